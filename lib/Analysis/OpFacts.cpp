//===- OpFacts.cpp - what the planner knows of one op ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/OpFacts.h"
#include "fusec/Analysis/IndexingMaps.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

/// Longest reduction of a convolution that a staged tile serves: 28 input
/// channels of a 3 x 3 kernel. Beyond it tensor cores win.
static constexpr int64_t kMaxStencilReduction = 256;
/// Most output channels of such a convolution: every one rereads the tile.
static constexpr int64_t kMaxStencilChannels = 64;
/// Most products of both: 16 channels out of 32. Beyond it a
/// pass over memory costs less than products without a register tile.
static constexpr int64_t kMaxStencilProducts = 512;

bool analysis::isStencilWindow(const graph::IterationSpace &space,
                               unsigned numOperands) {
  if (numOperands < 2)
    return true;
  std::optional<int64_t> reduced = numElements(space.reduced);
  if (!reduced || *reduced > kMaxStencilReduction)
    return false;
  // The second operand's own parallel axes are the channels that reread the
  // first one; a depthwise kernel has as many channels but rereads nothing.
  const AffineMap input = space.operands[0].map, kernel = space.operands[1].map;
  if (!input || !kernel)
    return false;
  int64_t reread = 1;
  for (auto [i, size] : llvm::enumerate(space.parallel)) {
    if (ShapedType::isDynamic(size))
      continue;
    if (usesDimIn(kernel, i, i + 1) && !usesDimIn(input, i, i + 1))
      reread *= size;
  }
  return reread <= kMaxStencilChannels &&
         reread * *reduced <= kMaxStencilProducts;
}

SmallVector<int64_t> analysis::reducedAxes(const OpFacts &fact) {
  SmallVector<int64_t> axes;
  const graph::OperandAccess &access = fact.space.operands.front();
  if (!access.map)
    return axes;
  for (auto [i, expr] : llvm::enumerate(access.map.getResults()))
    if (usesDimIn(expr, fact.numParallel(), fact.loops.size()))
      axes.push_back(i);
  return axes;
}

bool analysis::haveDifferentRows(const OpFacts &a, const OpFacts &b) {
  auto differ = [](ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
    std::optional<int64_t> n = numElements(x), m = numElements(y);
    return n && m && *n != *m;
  };
  return differ(a.space.parallel, b.space.parallel) ||
         differ(a.space.reduced, b.space.reduced);
}

bool analysis::mayFollowWindows(const OpFacts &reduction) {
  SmallVector<int64_t> axes = reducedAxes(reduction);
  int64_t last = reduction.space.parallel.size();
  return last >= 2 && axes.size() == 1 && axes.front() == last;
}

bool analysis::mayCross(const OpFacts &a, const OpFacts &b) {
  auto agree = [](ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
    std::optional<int64_t> n = numElements(x), m = numElements(y);
    return n && m && *n == *m && *n > 1;
  };
  return agree(a.space.parallel, b.space.reduced) &&
         agree(a.space.reduced, b.space.parallel);
}

static OpClass classify(const OpFacts &facts) {
  switch (facts.role) {
  case graph::FusionRole::elementwise:
  case graph::FusionRole::movement:
    return OpClass::Inlined;
  case graph::FusionRole::reduction:
    return OpClass::Reduction;
  case graph::FusionRole::window:
    return isStencilWindow(facts.space, facts.op->getNumOperands())
               ? OpClass::Window
               : OpClass::Hero;
  case graph::FusionRole::contraction:
    return OpClass::Hero;
  case graph::FusionRole::search:
    return OpClass::Search;
  }
  llvm_unreachable("covered switch");
}

const OpFacts *FactTable::get(Operation *op) {
  auto it = facts.find(op);
  if (it != facts.end())
    return it->second.get();
  auto fusible = dyn_cast<graph::FusibleOpInterface>(op);
  if (!fusible)
    return nullptr;
  auto result = std::make_unique<OpFacts>();
  result->op = op;
  result->role = fusible.getFusionRole();
  result->space = fusible.getIterationSpace();
  result->cost = fusible.getElementCost();
  result->opClass = classify(*result);
  result->loops = result->space.parallel;
  llvm::append_range(result->loops, result->space.reduced);
  for (auto [i, access] : llvm::enumerate(result->space.operands))
    if (access.map && !access.map.isIdentity())
      access.map = simplifyIndexMap(access.map, result->loops);
  // A slice from 0 has an identity map too, but a larger operand.
  bool sameShapes = llvm::all_of(op->getOperandTypes(), [&](Type type) {
    return cast<RankedTensorType>(type).getShape() ==
           ArrayRef<int64_t>(result->space.parallel);
  });
  result->isPlain =
      result->space.reduced.empty() && sameShapes &&
      llvm::all_of(result->space.operands, [](const auto &access) {
        return !access.isIndirect && !access.isMasked && access.map &&
               access.map.isIdentity();
      });
  return facts.try_emplace(op, std::move(result)).first->second.get();
}
