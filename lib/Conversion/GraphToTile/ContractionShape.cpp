//===- ContractionShape.cpp - loops of a hero as b, m, n, k ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ContractionShape.h"
#include "fusec/Analysis/IndexingMaps.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

int64_t ContractionShape::extent(ArrayRef<unsigned> loops) const {
  int64_t result = 1;
  for (unsigned loop : loops)
    result *= sizes[loop];
  return result;
}

SmallVector<int64_t> ContractionShape::boxOf(ArrayRef<unsigned> loops) const {
  SmallVector<int64_t> result;
  for (unsigned loop : loops)
    result.push_back(std::max<int64_t>(1, sizes[loop]));
  return result;
}

int64_t ContractionShape::unit(ArrayRef<unsigned> loops) const {
  int64_t size = 1;
  for (unsigned loop : loops)
    if (loop != 0 || (loops.size() == 1 && llvm::is_contained(contiguous, 0u)))
      size *= sizes[loop];
  return KernelBuilder::extentUnit(size);
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// The constant by which an operand divides loop `dim`; 1 if none does or it
/// does not divide the size.
static int64_t divisorOf(ArrayRef<AffineMap> maps, unsigned dim, int64_t size) {
  int64_t divisor = 1;
  for (AffineMap map : maps)
    map.walkExprs([&](AffineExpr expr) {
      if (expr.getKind() != AffineExprKind::FloorDiv)
        return;
      auto division = cast<AffineBinaryOpExpr>(expr);
      auto by = dyn_cast<AffineConstantExpr>(division.getRHS());
      if (by && by.getValue() > 1 && size % by.getValue() == 0 &&
          division.getLHS() == getAffineDimExpr(dim, expr.getContext()))
        divisor = by.getValue();
    });
  return divisor;
}

/// Fills `sizes` and `spine` of `shape`; returns the first reduced loop.
static unsigned splitLoops(ContractionShape &shape,
                           const analysis::RegionForm &form,
                           ArrayRef<AffineMap> maps, MLIRContext *context) {
  SmallVector<int64_t> spine = form.spine();
  SmallVector<AffineExpr> exprs;
  unsigned firstReduced = 0;
  for (auto [dim, size] : llvm::enumerate(spine)) {
    if (dim == form.parallel.size())
      firstReduced = shape.sizes.size();
    int64_t divisor =
        dim < form.parallel.size() ? divisorOf(maps, dim, size) : 1;
    AffineExpr loop = getAffineDimExpr(shape.sizes.size(), context);
    if (divisor == 1) {
      shape.sizes.push_back(size);
      exprs.push_back(loop);
      continue;
    }
    AffineExpr inner = getAffineDimExpr(shape.sizes.size() + 1, context);
    shape.sizes.push_back(size / divisor);
    shape.sizes.push_back(divisor);
    exprs.push_back(loop * divisor + inner);
  }
  if (form.reduced.empty())
    firstReduced = shape.sizes.size();
  shape.spine = AffineMap::get(shape.sizes.size(), 0, exprs, context);
  return firstReduced;
}

//===----------------------------------------------------------------------===//
// Memory order
//===----------------------------------------------------------------------===//

namespace {
/// A buffer and where it is read or written.
struct Access {
  AffineMap map; // loops -> index
  RankedTensorType type;
};
} // namespace

/// The largest buffer that elements of `value` at `at` come from.
static std::optional<Access> mainAccess(analysis::FactTable &facts, Value value,
                                        AffineMap at, ArrayRef<int64_t> sizes,
                                        llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return std::nullopt;
  if (isa<BlockArgument>(value))
    return Access{at, cast<RankedTensorType>(value.getType())};
  Operation *op = value.getDefiningOp();
  const analysis::OpFacts *fact = facts.get(op);
  if (!fact || !fact->space.reduced.empty())
    return std::nullopt;
  std::optional<Access> best;
  for (auto [operand, access] :
       llvm::zip(op->getOperands(), fact->space.operands)) {
    if (!access.map || access.isIndirect)
      continue;
    std::optional<Access> found =
        mainAccess(facts, operand,
                   analysis::composeIndex(access.map, at, sizes), sizes, seen);
    if (found &&
        (!best || found->type.getNumElements() > best->type.getNumElements()))
      best = found;
  }
  return best;
}

/// Sorts `loops` by how far apart neighbours are in memory, widest first.
static void sortByStride(SmallVectorImpl<unsigned> &loops,
                         const std::optional<Access> &access) {
  if (!access)
    return;
  // (stride negated, loop): loops start in ascending order, ties keep it.
  SmallVector<std::pair<int64_t, unsigned>> keys;
  for (unsigned loop : loops)
    keys.push_back({-std::abs(analysis::strideAlong(
                        access->map, access->type.getShape(), loop)),
                    loop});
  llvm::sort(keys);
  for (auto [loop, key] : llvm::zip(loops, keys))
    loop = key.second;
}

static std::optional<Access> mainOutput(const analysis::RegionForm &form,
                                        const ContractionShape &shape) {
  std::optional<Access> best;
  for (const analysis::RegionOutput &output : form.outputs) {
    auto type = cast<RankedTensorType>(output.value.getType());
    if (!best || type.getNumElements() > best->type.getNumElements())
      best = Access{
          analysis::composeIndex(output.index, shape.spine, shape.sizes), type};
  }
  return best;
}

/// The loop along which the output's memory is contiguous, if any.
static std::optional<unsigned> contiguousLoop(const ContractionShape &shape,
                                              const Access &output) {
  for (auto [loop, size] : llvm::enumerate(shape.sizes))
    if (size > 1 &&
        analysis::strideAlong(output.map, output.type.getShape(), loop) == 1)
      return loop;
  return std::nullopt;
}

/// Whether `stage` reduces `loop` of `shape`.
static bool reducesLoop(const analysis::RegionStage &stage,
                        const ContractionShape &shape, unsigned loop) {
  AffineMap loops =
      analysis::composeIndex(stage.loops, shape.spine, shape.sizes);
  return llvm::any_of(
      loops.getResults().drop_front(stage.result.getNumResults()),
      [&](AffineExpr expr) {
        return analysis::usesDimIn(expr, loop, loop + 1);
      });
}

std::optional<ContractionShape>
graph_to_tile::contractionShape(analysis::FactTable &facts,
                                const analysis::RegionForm &form) {
  Operation *hero = form.hero();
  const analysis::OpFacts *fact = facts.get(hero);
  if (!fact || fact->space.operands.size() != 2 ||
      llvm::any_of(form.spine(), ShapedType::isDynamic))
    return std::nullopt;
  AffineMap maps[] = {fact->space.operands[0].map, fact->space.operands[1].map};
  if (!maps[0] || !maps[1])
    return std::nullopt;

  ContractionShape shape;
  unsigned firstReduced = splitLoops(shape, form, maps, hero->getContext());
  std::optional<Access> sources[2];
  for (unsigned side : {0u, 1u}) {
    maps[side] = analysis::composeIndex(maps[side], shape.spine, shape.sizes);
    llvm::DenseSet<Value> seen;
    sources[side] = mainAccess(facts, hero->getOperand(side), maps[side],
                               shape.sizes, seen);
  }
  for (unsigned loop = 0; loop < shape.sizes.size(); ++loop) {
    if (loop >= firstReduced) {
      shape.k.push_back(loop);
      continue;
    }
    bool inLhs = analysis::usesDimIn(maps[0], loop, loop + 1);
    bool inRhs = analysis::usesDimIn(maps[1], loop, loop + 1);
    (inLhs == inRhs ? shape.batch : inLhs ? shape.m : shape.n).push_back(loop);
  }
  for (unsigned loop = 0; loop < shape.sizes.size(); ++loop)
    if (llvm::any_of(sources, [&](const std::optional<Access> &source) {
          return source && analysis::strideAlong(
                               source->map, source->type.getShape(), loop) == 1;
        }))
      shape.contiguous.push_back(loop);
  sortByStride(shape.k, sources[0] ? sources[0] : sources[1]);
  std::optional<Access> output = mainOutput(form, shape);
  for (auto *loops : {&shape.batch, &shape.m, &shape.n})
    sortByStride(*loops, output);
  bool isTurned;
  if (!form.statistics.empty()) {
    // Columns are what the states of rows are made of.
    const analysis::RegionStage &first = form.statistics.front();
    isTurned =
        llvm::any_of(first.isColumn ? shape.n : shape.m, [&](unsigned loop) {
          return reducesLoop(first, shape, loop);
        });
  } else {
    std::optional<unsigned> inner = contiguousLoop(shape, *output);
    isTurned = inner && llvm::is_contained(shape.m, *inner);
  }
  if (isTurned) {
    std::swap(shape.m, shape.n);
    shape.lhsOperand = 1;
  }
  return shape;
}

std::optional<ContractionShape>
graph_to_tile::withSizesOf(ContractionShape shape, analysis::FactTable &facts,
                           const analysis::RegionForm &form) {
  Operation *hero = form.hero();
  const analysis::OpFacts *fact = facts.get(hero);
  if (!fact || fact->space.operands.size() != 2)
    return std::nullopt;
  AffineMap maps[] = {fact->space.operands[0].map, fact->space.operands[1].map};
  if (!maps[0] || !maps[1])
    return std::nullopt;
  ContractionShape split;
  splitLoops(split, form, maps, hero->getContext());
  if (split.spine != shape.spine)
    return std::nullopt;
  shape.sizes = std::move(split.sizes);
  return shape;
}
