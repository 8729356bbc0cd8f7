//===- AlignProducts.cpp - rows of products at whole 16 bytes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of matrix products are copied to shared memory 16 bytes at a time
// where their rows are whole multiples of that, and element by element, several
// times slower, where they are not. Large products are worth a kernel that
// copies such an operand with zeros at the ends of its rows: along k they add
// products of zeros, so the other operand gets them too. Rows along another
// dimension than k are turned first.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace fusec::graph {
#define GEN_PASS_DEF_ALIGNPRODUCTSPASS
#include "fusec/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace fusec::graph

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

/// Multiplications from which on copying operands pays, and rows of each side.
static constexpr int64_t kLargeProduct = int64_t(1) << 30;
static constexpr int64_t kManyRows = 64;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// One operand of a product with one contracted dimension.
struct Side {
  Value value;
  SmallVector<int64_t> batch, free;
  int64_t contract;

  int64_t last() const { return typeOf(value).getRank() - 1; }
  int64_t size(int64_t dim) const { return typeOf(value).getDimSize(dim); }
  int64_t extent(ArrayRef<int64_t> dims) const {
    int64_t result = 1;
    for (int64_t dim : dims)
      result *= size(dim);
    return result;
  }
};
} // namespace

/// Bytes of an element of a product that tensor cores copy as it is; 0 for
/// others.
static int64_t copiedBytes(ContractOp op) {
  Type lhs = typeOf(op.getLhs()).getElementType(),
       rhs = typeOf(op.getRhs()).getElementType();
  if (lhs.getIntOrFloatBitWidth() == 8 && rhs.getIntOrFloatBitWidth() == 8)
    return isa<FloatType>(lhs) == isa<FloatType>(rhs) ? 1 : 0;
  if (lhs != rhs)
    return 0;
  if (lhs.isF16() || lhs.isBF16())
    return 2;
  return lhs.isF32() && op.getAllowTf32() ? 4 : 0;
}

/// Makes the contracted dimension the last one.
static void turn(OpBuilder &builder, Location loc, Side &side) {
  SmallVector<int64_t> order = side.batch;
  order.append(side.free);
  order.push_back(side.contract);
  SmallVector<int64_t> shape, place(order.size());
  for (auto [i, dim] : llvm::enumerate(order)) {
    shape.push_back(side.size(dim));
    place[dim] = i;
  }
  side.value = TransposeOp::create(
      builder, loc, typeOf(side.value).clone(shape), side.value, order);
  for (int64_t &dim : side.batch)
    dim = place[dim];
  for (int64_t &dim : side.free)
    dim = place[dim];
  side.contract = place[side.contract];
}

/// Adds zeros behind the contracted dimension.
static void pad(OpBuilder &builder, Location loc, Side &side, int64_t count) {
  RankedTensorType type = typeOf(side.value);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(scalar,
                             builder.getZeroAttr(type.getElementType())));
  SmallVector<int64_t> low(type.getRank(), 0), high = low,
                                               shape(type.getShape());
  high[side.contract] = count;
  shape[side.contract] += count;
  side.value = PadOp::create(builder, loc, type.clone(shape), side.value, zero,
                             low, high);
}

static bool align(ContractOp op) {
  int64_t bytes = copiedBytes(op);
  if (!bytes || op.getLhsContract().size() != 1 ||
      !typeOf(op.getResult()).hasStaticShape())
    return false;
  Side sides[] = {{op.getLhs(), llvm::to_vector(op.getLhsBatch()),
                   op.getLhsFree(), op.getLhsContract()[0]},
                  {op.getRhs(), llvm::to_vector(op.getRhsBatch()),
                   op.getRhsFree(), op.getRhsContract()[0]}};
  int64_t rows = sides[0].extent(sides[0].free),
          columns = sides[1].extent(sides[1].free),
          length = sides[0].size(sides[0].contract),
          batches = sides[0].extent(sides[0].batch);
  if (rows < kManyRows || columns < kManyRows ||
      double(rows) * double(columns) * double(length) * double(batches) <
          double(kLargeProduct))
    return false;
  int64_t group = 16 / bytes;
  auto isTurned = [&](const Side &side) {
    return side.contract != side.last() &&
           (bytes != 2 || side.size(side.last()) % group != 0);
  };
  bool isAligned = length % group == 0;
  bool isPadded = false, turnsAny = false;
  for (const Side &side : sides) {
    turnsAny |= isTurned(side);
    isPadded |= !isAligned && (isTurned(side) || side.contract == side.last());
  }
  // Turning alone is for others to decide where elements are not of 16 bits.
  if (!isPadded && !(turnsAny && bytes == 2))
    return false;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  for (Side &side : sides) {
    if (isTurned(side))
      turn(builder, loc, side);
    if (isPadded)
      pad(builder, loc, side, llvm::alignTo(length, group) - length);
  }
  using Dims = ArrayRef<int64_t>;
  auto made = ContractOp::create(builder, loc, op.getType(), sides[0].value,
                                 sides[1].value, sides[0].batch, sides[1].batch,
                                 Dims{sides[0].contract},
                                 Dims{sides[1].contract}, op.getAllowTf32());
  if (hasFastAccumulation(op))
    made->setAttr(kFastAccumulation, builder.getUnitAttr());
  op.replaceAllUsesWith(made.getResult());
  op.erase();
  return true;
}

namespace {
struct AlignProductsPass
    : graph::impl::AlignProductsPassBase<AlignProductsPass> {
  void runOnOperation() override {
    SmallVector<ContractOp> products;
    getOperation()->walk([&](ContractOp op) { products.push_back(op); });
    for (ContractOp op : products)
      numAligned += align(op);
  }
};
} // namespace
