//===- ScaleRows.cpp - row scales behind a product ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sum over k of (x s g) w = s * sum over k of x (g w), where s does not depend
// on k and g on nothing else. The right side reads x as it is. What it saves is
// storing x s g, as many bytes as x has; what g costs is another copy of w.
// Where both are constants that is made before the program runs; else w is read
// and g w written at each run, which pays only for many more rows than columns.
//
// Of several factors s the first may take the sum out of f32 where the next one
// brings it back. So only one may have any size; constants of at most 1 come
// before it, those of at least 1 after it.
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/ScaleRows.h"
#include "fusec/Dialect/Graph/IR/EraseDead.h"
#include "fusec/Dialect/Graph/IR/Magnitudes.h"
#include "fusec/Dialect/Graph/IR/RowScales.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using graph::RowScales;

/// Fewer rows, columns or terms are a small part of a net's time, and other
/// loops make them.
static constexpr int64_t kManyRows = 128, kManyColumns = 64, kLongSum = 64;
/// Bytes that a kernel which scales a copy of w must save beside its own: its
/// launch, at the bandwidth of an H200.
static constexpr int64_t kCopyBytes = 8 << 20;
/// Ops that are looked at for how x is made.
static constexpr unsigned kMostOps = 64;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isConstant(Value value) {
  return value.getDefiningOp<graph::ConstantOp>() != nullptr;
}

/// Whether `value` is made of inputs and results of contractions without a
/// reduction of its rows: parts of a softmax are stored by the kernel that sums
/// them, scaled or not.
static bool isThere(Value value) {
  SmallVector<Value> open = {value};
  for (unsigned seen = 0; !open.empty(); ++seen) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || op->hasTrait<OpTrait::ConstantLike>())
      continue;
    auto fusible = dyn_cast<graph::FusibleOpInterface>(op);
    if (!fusible || seen == kMostOps ||
        fusible.getFusionRole() == graph::FusionRole::reduction)
      return false;
    if (fusible.getFusionRole() == graph::FusionRole::elementwise ||
        fusible.getFusionRole() == graph::FusionRole::movement)
      open.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// -1 for a constant factor that makes nothing larger, 1 for one that makes
/// nothing smaller; 0 for others.
static int growthOf(const RowScales::Factor &factor) {
  if (!isConstant(factor.value))
    return 0;
  graph::Magnitudes size = graph::magnitudesOf(factor.value);
  int growth = size.high <= 0 ? -1 : size.low >= 0 ? 1 : 0;
  return factor.isDivisor ? -growth : growth;
}

/// Brings factors into an order in which a product with one is infinite only if
/// that with all is; false if there is none.
static bool arrange(SmallVectorImpl<RowScales::Factor> &rows) {
  SmallVector<RowScales::Factor> ordered;
  for (int growth : {-1, 0, 1}) {
    size_t before = ordered.size();
    llvm::copy_if(rows, std::back_inserter(ordered),
                  [&](const auto &row) { return growthOf(row) == growth; });
    if (growth == 0 && ordered.size() > before + 1)
      return false;
  }
  rows = std::move(ordered);
  return true;
}

namespace {
/// One contraction with a scaled operand.
struct Candidate {
  graph::ContractOp op;
  bool isLhs;
  RowScales scales;

  Value operand() { return isLhs ? op.getLhs() : op.getRhs(); }
  Value other() { return isLhs ? op.getRhs() : op.getLhs(); }
  /// The other operand is scaled before the program runs, or not at all.
  bool isFree() {
    return scales.terms.empty() ||
           (isConstant(other()) &&
            llvm::all_of(scales.terms, [](const RowScales::Factor &term) {
              return isConstant(term.value);
            }));
  }
};
} // namespace

/// Whether products with one operand are better off without its scaled copy.
static bool pays(MutableArrayRef<Candidate> candidates) {
  auto bytesOf = [](Value value) { return 2 * typeOf(value).getNumElements(); };
  // Not written; read by the kernel that makes the factors, or by the one that
  // would have scaled it.
  int64_t saved = bytesOf(candidates.front().operand());
  for (Candidate &candidate : candidates)
    if (!candidate.isFree())
      saved -= 2 * bytesOf(candidate.other()) + kCopyBytes;
  return saved > 0;
}

/// Where the dimensions of the scaled operand are in the result; -1: summed.
static SmallVector<int64_t> placesOf(Candidate &c) {
  SmallVector<int64_t> place(typeOf(c.operand()).getRank(), -1);
  ArrayRef<int64_t> batch = c.isLhs ? c.op.getLhsBatch() : c.op.getRhsBatch();
  SmallVector<int64_t> lhsFree = c.op.getLhsFree(), rhsFree = c.op.getRhsFree();
  int64_t first = batch.size() + (c.isLhs ? 0 : lhsFree.size());
  for (auto [i, dim] : llvm::enumerate(batch))
    place[dim] = i;
  for (auto [i, dim] : llvm::enumerate(c.isLhs ? lhsFree : rhsFree))
    place[dim] = first + i;
  return place;
}

static std::optional<Candidate> candidateOf(graph::ContractOp op, bool isLhs) {
  Value operand = isLhs ? op.getLhs() : op.getRhs();
  Value other = isLhs ? op.getRhs() : op.getLhs();
  RankedTensorType type = typeOf(operand);
  if (!type.hasStaticShape() || !typeOf(other).hasStaticShape() ||
      typeOf(other).getElementType() != type.getElementType())
    return std::nullopt;
  auto extent = [](Value value, ArrayRef<int64_t> dims) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= typeOf(value).getDimSize(dim);
    return size;
  };
  SmallVector<int64_t> lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree();
  if (extent(operand, isLhs ? lhsFree : rhsFree) < kManyRows ||
      extent(other, isLhs ? rhsFree : lhsFree) < kManyColumns ||
      extent(op.getLhs(), op.getLhsContract()) < kLongSum)
    return std::nullopt;
  std::optional<RowScales> scales = graph::rowScales(op, isLhs);
  if (!scales || scales->rows.empty() || !arrange(scales->rows) ||
      !isThere(scales->raw))
    return std::nullopt;
  for (const RowScales::Factor &term : scales->terms)
    if (term.isDivisor || term.dims.size() != 1)
      return std::nullopt;
  Candidate found{op, isLhs, std::move(*scales)};
  SmallVector<int64_t> place = placesOf(found);
  for (const RowScales::Factor &row : found.scales.rows) {
    SmallVector<int64_t> kept;
    for (int64_t dim : row.dims)
      if (place[dim] >= 0)
        kept.push_back(place[dim]);
    // Broadcasts want them in ascending order.
    if (!llvm::is_sorted(kept))
      return std::nullopt;
  }
  return found;
}

/// `value`, a tensor of at most some dimensions `dims` of `operand`, spread
/// over f32 values of `to`, whose dimension place[d] is the operand's dimension
/// d.
static Value spread(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<int64_t> dims, ArrayRef<int64_t> place,
                    RankedTensorType to) {
  SmallVector<int64_t> shape, kept;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (place[dim] >= 0) {
      kept.push_back(place[dim]);
      shape.push_back(typeOf(value).getDimSize(i));
    }
  if (shape.size() != dims.size())
    value = graph::ReshapeOp::create(builder, loc, typeOf(value).clone(shape),
                                     value);
  if (typeOf(value).getElementType() != to.getElementType())
    value = graph::CastOp::create(
        builder, loc, typeOf(value).clone(to.getElementType()), value);
  return graph::BroadcastOp::create(builder, loc, to, value, kept);
}

/// The other operand times the factors along what is summed.
static Value scaledTerms(OpBuilder &builder, Candidate &c, ScaledRows &result) {
  Value value = c.other();
  RankedTensorType type = typeOf(value);
  ArrayRef<int64_t> from =
      c.isLhs ? c.op.getLhsContract() : c.op.getRhsContract();
  ArrayRef<int64_t> to =
      c.isLhs ? c.op.getRhsContract() : c.op.getLhsContract();
  SmallVector<int64_t> place(typeOf(c.operand()).getRank(), -1);
  for (auto [one, two] : llvm::zip(from, to))
    place[one] = two;
  for (const RowScales::Factor &term : c.scales.terms) {
    value = graph::MulOp::create(
        builder, c.op.getLoc(), value,
        spread(builder, c.op.getLoc(), term.value, term.dims, place, type));
    if (c.isFree())
      result.constants.push_back(value.getDefiningOp());
  }
  return value;
}

static void rewrite(Candidate &c, ScaledRows &result) {
  OpBuilder builder(c.op);
  Location loc = c.op.getLoc();
  Value other = scaledTerms(builder, c, result);
  auto wide = cast<RankedTensorType>(
      typeOf(c.op.getResult()).clone(builder.getF32Type()));
  Value value = graph::ContractOp::create(
      builder, loc, wide, c.isLhs ? c.scales.raw : other,
      c.isLhs ? other : c.scales.raw, c.op.getLhsBatch(), c.op.getRhsBatch(),
      c.op.getLhsContract(), c.op.getRhsContract());
  SmallVector<int64_t> place = placesOf(c);
  for (const RowScales::Factor &row : c.scales.rows) {
    Value factor = row.value;
    // A uniform constant is a scalar.
    if (row.dims.empty() && typeOf(factor).getRank()) {
      auto splat = cast<DenseElementsAttr>(
          factor.getDefiningOp<graph::ConstantOp>().getValue());
      factor =
          graph::ConstantOp::create(builder, loc,
                                    splat.resizeSplat(RankedTensorType::get(
                                        {}, typeOf(factor).getElementType())));
    }
    Value spreadFactor = spread(builder, loc, factor, row.dims, place, wide);
    value = row.isDivisor
                ? graph::DivOp::create(builder, loc, value, spreadFactor)
                      .getResult()
                : graph::MulOp::create(builder, loc, value, spreadFactor)
                      .getResult();
  }
  if (value.getType() != c.op.getType())
    value = graph::CastOp::create(builder, loc, c.op.getType(), value);
  c.op.getResult().replaceAllUsesWith(value);
  c.op.erase();
  ++result.count;
}

ScaledRows fusion::scaleRows(FunctionOpInterface function) {
  ScaledRows result;
  if (function.isExternal())
    return result;
  llvm::MapVector<Value, SmallVector<Candidate, 1>> byOperand;
  for (auto op : function.getFunctionBody().getOps<graph::ContractOp>())
    for (bool isLhs : {true, false})
      if (std::optional<Candidate> found = candidateOf(op, isLhs)) {
        byOperand[found->operand()].push_back(std::move(*found));
        break;
      }
  for (auto &[operand, candidates] : byOperand) {
    // Stored for another reader, it may as well be read here.
    if (size_t(llvm::range_size(operand.getUses())) != candidates.size() ||
        !pays(candidates))
      continue;
    // What is multiplied may have been rewritten in the meantime.
    for (Candidate &candidate : candidates)
      if (auto again = candidateOf(candidate.op, candidate.isLhs))
        rewrite(*again, result);
    graph::eraseDead(operand.getDefiningOp());
  }
  return result;
}
