//===- Float8.cpp - products of 8-bit floats ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long enough, and mostly in sizes that tensor cores copy whole: random sizes
// seldom are.
//===----------------------------------------------------------------------===//
#include "Writer.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

namespace {
/// One operand: dimensions batch (0 or 1), then rows and k in either order.
struct Side {
  int64_t batches, rows, k;
  bool isTurned;

  Shape shape() const {
    Shape result;
    if (batches)
      result.push_back(batches);
    result.push_back(isTurned ? k : rows);
    result.push_back(isTurned ? rows : k);
    return result;
  }
  int64_t first() const { return batches ? 1 : 0; }
  int64_t rowDim() const { return first() + isTurned; }
  int64_t kDim() const { return first() + !isTurned; }
};
} // namespace

/// Behind a cast to `dtype`, mostly with a factor that does not depend on k.
static Value widened(Writer &w, const Side &side, Value narrow, DType dtype) {
  Value wide = w.cast(narrow, dtype);
  if (!wide || w.rng.chance(1, 4))
    return wide;
  Shape shape = w.shapeOf(wide);
  Value scale = w.rng.chance(1, 2) ? w.broadcast(w.fresh({}, dtype), shape, {})
                                   : w.broadcast(w.fresh({side.rows}, dtype),
                                                 shape, {side.rowDim()});
  return scale ? w.op<graph::MulOp>(wide, scale) : Value();
}

static Value float8Product(Writer &w) {
  static constexpr DType kNarrow[] = {DType::F8E4M3, DType::F8E5M2};
  static constexpr DType kWide[] = {DType::F16, DType::BF16, DType::F32};
  int64_t batches = w.rng.chance(1, 4) ? w.rng.between(1, 3) : 0;
  int64_t k =
      w.rng.chance(5, 6) ? 16 * w.rng.between(1, 24) : w.rng.between(1, 300);
  Side lhs{batches, w.rng.between(1, 150), k, w.rng.chance(1, 4)};
  Side rhs{batches, w.rng.between(1, 150), k, w.rng.chance(1, 2)};
  if (std::max<int64_t>(batches, 1) * lhs.rows * rhs.rows * k > 2'000'000)
    return {};
  Value a = w.fresh(lhs.shape(), w.rng.pick(kNarrow));
  Value b = w.fresh(rhs.shape(), w.rng.pick(kNarrow));
  DType result = w.rng.pick(kWide);
  bool tf32 = false;
  if (w.rng.chance(2, 3)) {
    tf32 = w.rng.chance(1, 2);
    a = widened(w, lhs, a, result);
    b = widened(w, rhs, b, result);
  }
  if (!a || !b)
    return {};
  Shape to;
  SmallVector<int64_t> batch;
  if (batches) {
    to.push_back(batches);
    batch.push_back(0);
  }
  to.append({lhs.rows, rhs.rows});
  using Array = ArrayRef<int64_t>;
  Value product = w.op<graph::ContractOp>(
      w.tensor(to, result), a, b, Array(batch), Array(batch), Array{lhs.kDim()},
      Array{rhs.kDim()}, tf32);
  if (product && w.rng.chance(1, 4))
    product.getDefiningOp()->setAttr(graph::kFastAccumulation,
                                     w.builder.getUnitAttr());
  return product;
}

void fuzz::appendFloat8Recipes(SmallVectorImpl<WeightedRecipe> &recipes) {
  recipes.push_back({float8Product, 2});
}
