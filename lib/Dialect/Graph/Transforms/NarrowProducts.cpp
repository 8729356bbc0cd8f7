//===- NarrowProducts.cpp - integer products of 8-bit elements ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised products come as sums of (a - zero) * b in i32. Tensor cores
// multiply 8-bit elements, so the zero point is taken out:
//   sum (a - z) b = sum a b - z sum b     (exact: integers modulo 2^n)
// and, as they want both operands contiguous along k, others are transposed:
// constants, which folding does once, and what many rows of the other operand
// share. Whether the transpose is a kernel of its own is up to the planner.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "fusec-graph-narrow-products"

namespace fusec::graph {
#define GEN_PASS_DEF_NARROWPRODUCTSPASS
#include "fusec/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace fusec::graph

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

/// Sums below this are left alone: their kernels have no tensor cores.
static constexpr int64_t kShortSum = 16;
/// Rows of the other operand from which transposing an operand pays.
static constexpr int64_t kManyRows = 256;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isByte(Value value) {
  return typeOf(value).getElementType().isInteger(8);
}

/// 8-bit integers and floats, whose products want them contiguous along k.
static bool isByteWide(Value value) {
  return isByte(value) || isFloat8(typeOf(value).getElementType());
}

/// The 8-bit tensor whose elements `value` has; null if there is none. A signed
/// one is not looked for behind unsigned types, which lose its sign.
static Value byteSource(Value value) {
  if (isByte(value))
    return value;
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !isByte(cast.getOperand()))
    return {};
  auto from = dyn_cast<IntegerType>(typeOf(cast.getOperand()).getElementType());
  auto to = dyn_cast<IntegerType>(typeOf(value).getElementType());
  return to && (from.isUnsigned() || !to.isUnsigned()) ? cast.getOperand()
                                                       : Value();
}

namespace {

/// One operand of a product: its dimensions by role.
struct Side {
  Value value;
  SmallVector<int64_t> batch, contract, free;

  int64_t length() const { return extent(contract); }
  int64_t rows() const { return extent(free); }

private:
  int64_t extent(ArrayRef<int64_t> dims) const {
    int64_t result = 1;
    for (int64_t dim : dims)
      result *= typeOf(value).getDimSize(dim);
    return result;
  }
};

/// The zero point of an operand that is `narrow - zero`: a scalar.
struct Centred {
  Value narrow, zero;
};

} // namespace

static Side sideOf(ContractOp op, bool isLhs) {
  if (isLhs)
    return {op.getLhs(), llvm::to_vector(op.getLhsBatch()),
            llvm::to_vector(op.getLhsContract()), op.getLhsFree()};
  return {op.getRhs(), llvm::to_vector(op.getRhsBatch()),
          llvm::to_vector(op.getRhsContract()), op.getRhsFree()};
}

static std::optional<Centred> centred(Value value) {
  auto difference = value.getDefiningOp<SubOp>();
  if (!difference || !byteSource(difference.getLhs()) ||
      isByte(difference.getLhs()))
    return std::nullopt;
  auto spread = difference.getRhs().getDefiningOp<BroadcastOp>();
  if (!spread || typeOf(spread.getOperand()).getNumElements() != 1)
    return std::nullopt;
  return Centred{difference.getLhs(), spread.getOperand()};
}

static ContractOp product(PatternRewriter &rewriter, Location loc, Type type,
                          const Side &lhs, const Side &rhs) {
  return ContractOp::create(rewriter, loc, type, lhs.value, rhs.value,
                            lhs.batch, rhs.batch, lhs.contract, rhs.contract);
}

namespace {

/// sum (a - z) b = sum a b - z sum b, for either operand.
struct SplitZeroPoint : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &rewriter) const override {
    auto result =
        dyn_cast<IntegerType>(typeOf(op.getResult()).getElementType());
    if (!result || !typeOf(op.getResult()).hasStaticShape())
      return failure();
    for (bool isLhs : {true, false})
      if (succeeded(split(op, isLhs, rewriter)))
        return success();
    return failure();
  }

private:
  LogicalResult split(ContractOp op, bool isLhs,
                      PatternRewriter &rewriter) const {
    Side side = sideOf(op, isLhs), other = sideOf(op, !isLhs);
    std::optional<Centred> parts = centred(side.value);
    // What is left of the other operand must be narrow, too, in the end.
    if (!parts || side.length() < kShortSum ||
        !(byteSource(other.value) || centred(other.value)))
      return failure();
    Location loc = op.getLoc();
    RankedTensorType type = typeOf(op.getResult());
    side.value = parts->narrow;
    Value main = isLhs ? product(rewriter, loc, type, side, other)
                       : product(rewriter, loc, type, other, side);
    Value sums = sumsOf(op, !isLhs, rewriter);
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value zero = ReshapeOp::create(
        rewriter, loc, scalar.clone(typeOf(parts->zero).getElementType()),
        parts->zero);
    zero = CastOp::create(rewriter, loc, scalar, zero);
    zero = BroadcastOp::create(rewriter, loc, type, zero, ArrayRef<int64_t>{});
    Value share = MulOp::create(rewriter, loc, zero, sums);
    rewriter.replaceOpWithNewOp<SubOp>(op, main, share);
    return success();
  }

  /// The sums of one operand over k, spread over the result: products with
  /// ones, whose sums are as wide as the result.
  Value sumsOf(ContractOp op, bool isLhs, PatternRewriter &rewriter) const {
    Side side = sideOf(op, isLhs);
    RankedTensorType type = typeOf(op.getResult());
    // Ones of the other operand's batches and k; its free dimensions have
    // gone.
    SmallVector<int64_t> onesShape, sumsShape, at;
    Side ones;
    for (auto [i, dim] : llvm::enumerate(side.batch)) {
      ones.batch.push_back(i);
      onesShape.push_back(typeOf(side.value).getDimSize(dim));
      sumsShape.push_back(onesShape.back());
      at.push_back(i);
    }
    for (int64_t dim : side.contract) {
      ones.contract.push_back(onesShape.size());
      onesShape.push_back(typeOf(side.value).getDimSize(dim));
    }
    int64_t first = isLhs ? 0 : sideOf(op, true).free.size();
    for (auto [i, dim] : llvm::enumerate(side.free)) {
      sumsShape.push_back(typeOf(side.value).getDimSize(dim));
      at.push_back(side.batch.size() + first + i);
    }
    Type byte = rewriter.getIntegerType(8);
    auto onesType = RankedTensorType::get(onesShape, byte);
    ones.value = ConstantOp::create(
        rewriter, op.getLoc(),
        DenseElementsAttr::get(onesType, rewriter.getI8IntegerAttr(1)));
    auto sumsType = RankedTensorType::get(sumsShape, type.getElementType());
    // A narrow operand is summed as it is, so that constants fold.
    if (Value source = byteSource(side.value))
      side.value = source;
    Value sums = product(rewriter, op.getLoc(), sumsType, side, ones);
    return BroadcastOp::create(rewriter, op.getLoc(), type, sums, at);
  }
};

/// Products widen their operands themselves.
struct DropWidening : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &rewriter) const override {
    Value lhs = byteSource(op.getLhs()), rhs = byteSource(op.getRhs());
    if (!lhs || !rhs || (lhs == op.getLhs() && rhs == op.getRhs()) ||
        !typeOf(op.getResult()).getElementType().isInteger())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getLhsMutable().assign(lhs);
      op.getRhsMutable().assign(rhs);
    });
    return success();
  }
};

/// 8-bit elements are moved before they are widened for a product, so that the
/// product finds them: move (cast x) = cast (move x).
template <typename MovementOp>
struct MoveBytes : OpRewritePattern<MovementOp> {
  using OpRewritePattern<MovementOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(MovementOp op,
                                PatternRewriter &rewriter) const override {
    Value source = byteSource(op.getOperand());
    if (!source || source == op.getOperand() ||
        !llvm::any_of(op->getUsers(), llvm::IsaPred<ContractOp>))
      return failure();
    IRMapping mapping;
    mapping.map(op.getOperand(), source);
    Operation *moved = rewriter.clone(*op, mapping);
    moved->getResult(0).setType(
        op.getType().clone(typeOf(source).getElementType()));
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), moved->getResult(0));
    return success();
  }
};

/// An 8-bit operand, integer or float, whose last dimension is not contracted.
struct TurnOperand : OpRewritePattern<ContractOp> {
  TurnOperand(MLIRContext *context, bool singles)
      : OpRewritePattern(context), singles(singles) {}

  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &rewriter) const override {
    for (bool isLhs : {true, false}) {
      Side side = sideOf(op, isLhs);
      int64_t last = typeOf(side.value).getRank() - 1;
      int64_t rows = sideOf(op, !isLhs).rows();
      bool isSingle = singles && isTf32(op);
      bool pays =
          side.value.getDefiningOp<ConstantOp>() ||
          (isSingle ? rows >= 2 * kManyRows
                    : rows >= kManyRows &&
                          isByteWide(isLhs ? op.getRhs() : op.getLhs()));
      if (!(isSingle || isByteWide(side.value)) || !pays ||
          side.contract.empty() || side.length() < kShortSum ||
          llvm::is_contained(side.contract, last))
        continue;
      turn(op, isLhs, side, rewriter);
      return success();
    }
    return failure();
  }

private:
  /// Transpose operands of products in TF32.
  bool singles;

  static bool isTf32(ContractOp op) {
    return op.getAllowTf32() && typeOf(op.getLhs()).getElementType().isF32() &&
           typeOf(op.getRhs()).getElementType().isF32();
  }

  static void turn(ContractOp op, bool isLhs, Side side,
                   PatternRewriter &rewriter) {
    SmallVector<int64_t> order = side.batch;
    order.append(side.free);
    order.append(side.contract);
    SmallVector<int64_t> shape, place(order.size());
    for (auto [i, dim] : llvm::enumerate(order)) {
      shape.push_back(typeOf(side.value).getDimSize(dim));
      place[dim] = i;
    }
    side.value =
        TransposeOp::create(rewriter, op.getLoc(),
                            typeOf(side.value).clone(shape), side.value, order);
    for (auto *dims : {&side.batch, &side.contract})
      for (int64_t &dim : *dims)
        dim = place[dim];
    // Free dimensions keep their order, and so does the result.
    Side other = sideOf(op, !isLhs);
    ContractOp made =
        isLhs ? product(rewriter, op.getLoc(), op.getType(), side, other)
              : product(rewriter, op.getLoc(), op.getType(), other, side);
    made.setAllowTf32(op.getAllowTf32());
    if (hasFastAccumulation(op))
      made->setAttr(kFastAccumulation, rewriter.getUnitAttr());
    rewriter.replaceOp(op, made);
  }
};

struct NarrowProductsPass
    : graph::impl::NarrowProductsPassBase<NarrowProductsPass> {
  using NarrowProductsPassBase::NarrowProductsPassBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitZeroPoint, DropWidening, MoveBytes<TransposeOp>,
                 MoveBytes<ReshapeOp>, MoveBytes<BroadcastOp>>(&getContext());
    patterns.add<TurnOperand>(&getContext(), turnSingles);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
