//===- IndexingMaps.cpp - index maps over box domains ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composition, reshape maps and solving for a consumer's index.
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/IndexingMaps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;

AffineMap analysis::simplifyIndexMap(AffineMap map, ArrayRef<int64_t> sizes) {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(simplifyIndex(expr, sizes));
  return AffineMap::get(map.getNumDims(), 0, results, map.getContext());
}

AffineMap analysis::composeIndex(AffineMap outer, AffineMap inner,
                                 ArrayRef<int64_t> sizes) {
  if (outer.isIdentity())
    return inner;
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : outer.getResults()) {
    // A bare dim needs no work; inner is already simplified.
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      results.push_back(inner.getResult(dim.getPosition()));
    else
      results.push_back(
          simplifyIndex(expr.replaceDims(inner.getResults()), sizes));
  }
  return AffineMap::get(inner.getNumDims(), 0, results, inner.getContext());
}

std::optional<int64_t> analysis::numElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

AffineMap analysis::reshapeMap(MLIRContext *context, ArrayRef<int64_t> from,
                               ArrayRef<int64_t> to) {
  std::optional<int64_t> count = numElements(from);
  if (!count || count != numElements(to))
    return {};
  AffineExpr linear = getAffineConstantExpr(0, context);
  for (auto [i, size] : llvm::enumerate(from))
    linear = linear * size + getAffineDimExpr(i, context);
  SmallVector<AffineExpr> results(to.size());
  int64_t stride = 1;
  for (int64_t i = to.size() - 1; i >= 0; --i) {
    if (to[i] == 0) {
      results[i] = getAffineConstantExpr(0, context);
      continue;
    }
    results[i] = linear.floorDiv(stride) % to[i];
    stride *= to[i];
  }
  AffineMap map = AffineMap::get(from.size(), 0, results, context);
  return simplifyIndexMap(map, from);
}

/// Solves a projected permutation of whole axes.
static std::optional<SmallVector<AffineExpr>>
solvePermutation(AffineMap access, ArrayRef<int64_t> loops,
                 ArrayRef<int64_t> operand, AffineMap target,
                 bool dynamicMatch) {
  SmallVector<AffineExpr> solution(loops.size());
  for (auto [i, expr] : llvm::enumerate(access.getResults())) {
    if (isa<AffineConstantExpr>(expr)) {
      if (operand[i] != 1)
        return std::nullopt;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || solution[dim.getPosition()] ||
        operand[i] != loops[dim.getPosition()] ||
        (ShapedType::isDynamic(operand[i]) && !dynamicMatch))
      return std::nullopt;
    solution[dim.getPosition()] = target.getResult(i);
  }
  for (auto [size, expr] : llvm::zip(loops, solution))
    if (!expr && size == 1)
      expr = getAffineConstantExpr(0, access.getContext());
  return solution;
}

std::optional<SmallVector<AffineExpr>>
analysis::solveIndex(AffineMap access, ArrayRef<int64_t> loops,
                     ArrayRef<int64_t> operand, AffineMap target,
                     ArrayRef<int64_t> sizes, bool dynamicMatch) {
  if (!access.isIdentity())
    access = simplifyIndexMap(access, loops);
  if (auto solution =
          solvePermutation(access, loops, operand, target, dynamicMatch))
    return solution;
  MLIRContext *context = access.getContext();
  if (AffineMap forth = reshapeMap(context, loops, operand);
      forth && forth == access) {
    AffineMap back = reshapeMap(context, operand, loops);
    AffineMap solution = composeIndex(back, target, sizes);
    return llvm::to_vector(solution.getResults());
  }
  return std::nullopt;
}

bool analysis::usesDimIn(AffineExpr expr, unsigned first, unsigned last) {
  return expr
      .walk([&](AffineExpr part) {
        auto dim = dyn_cast<AffineDimExpr>(part);
        return dim && dim.getPosition() >= first && dim.getPosition() < last
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool analysis::usesDimIn(AffineMap map, unsigned first, unsigned last) {
  return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
    return usesDimIn(expr, first, last);
  });
}
