//===- Emitter.h - graph ops or constants -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operator imports build with. Every method takes and gives values that
// are an SSA value, a known constant, or both; it computes the result at once
// where all operands are known and small (Fold.h), and makes an op otherwise.
//
// The first failure is reported as a diagnostic and latched: from then on every
// method returns the null value and does nothing, so operator code reads
// straight on and asks once at its end.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_EMITTER_H
#define FUSEC_LIB_FRONTEND_ONNX_EMITTER_H

#include "Fold.h"
#include "fusec/Frontend/Onnx/Import.h"
#include "mlir/IR/Builders.h"

#include <functional>

namespace fusec::onnx::importer {

using Dims = llvm::SmallVector<int64_t, 6>;
using DimsRef = llvm::ArrayRef<int64_t>;

/// A value of the graph. Null after a failure.
struct Val {
  DType dtype = DType::F32;
  Dims shape;
  /// Null for a constant that no op has used yet.
  mlir::Value value;
  /// The contents, where known.
  std::shared_ptr<const HostTensor> constant;
  bool valid = false;

  explicit operator bool() const { return valid; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const;
};

/// Makes graph ops at the end of a block.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, const ImportOptions &options)
      : builder(builder), options(options), loc(builder.getUnknownLoc()) {}

  //--- Failure -------------------------------------------------------------//

  /// Where ops and diagnostics are located and what diagnostics begin with.
  void enterNode(mlir::Location location, std::string prefix);
  mlir::Location location() const { return loc; }
  const std::string &messagePrefix() const { return prefix; }
  /// Reports "<prefix>: <message>" unless something failed before: the file
  /// contradicts itself or the format. Returns the null value.
  Val fail(const llvm::Twine &message);
  /// The same for what the format allows and fusec does not do.
  Val unsupported(const llvm::Twine &message);
  bool failed() const { return failure != ImportFailure::None; }
  ImportFailure kind() const { return failure; }

  //--- Values --------------------------------------------------------------//

  /// The element type of a data type of the format; nothing after a report,
  /// which begins with `what`.
  std::optional<DType> dtype(DataType type, const llvm::Twine &what);
  /// An SSA value for `val`: constants become graph.constant on first use.
  mlir::Value use(const Val &val);
  Val fromConstant(HostTensor tensor);
  /// Counts elements of a constant that an operator is about to make: a small
  /// file must not ask for gigabytes. False after a report.
  bool charge(int64_t elements);
  Val fromConstant(std::shared_ptr<const HostTensor> tensor);
  Val fromValue(mlir::Value value);
  /// A rank-0 constant; integers wrap, floats round.
  Val scalar(DType dtype, double value);
  Val scalarInt(DType dtype, int64_t value);
  /// A 1-D i64 constant.
  Val vector(DimsRef values);
  /// A tensor that holds `value` (of rank 0) everywhere.
  Val splat(const Val &value, DimsRef shape);
  Val splat(DType dtype, double value, DimsRef shape) {
    return splat(scalar(dtype, value), shape);
  }

  //--- Elementwise ---------------------------------------------------------//

  /// Broadcasts all to their common shape as NumPy does.
  bool unify(llvm::MutableArrayRef<Val> vals);
  template <typename OpT>
  Val unary(const Val &x);
  /// Broadcasts and requires equal types.
  template <typename OpT>
  Val binary(const Val &lhs, const Val &rhs);
  /// Binary with a constant of the type of `lhs`.
  template <typename OpT>
  Val binary(const Val &lhs, double rhs) {
    return lhs ? binary<OpT>(lhs, scalar(lhs.dtype, rhs)) : Val();
  }
  Val add(const Val &a, const Val &b) { return binary<graph::AddOp>(a, b); }
  Val sub(const Val &a, const Val &b) { return binary<graph::SubOp>(a, b); }
  Val mul(const Val &a, const Val &b) { return binary<graph::MulOp>(a, b); }
  Val div(const Val &a, const Val &b) { return binary<graph::DivOp>(a, b); }
  Val compare(graph::ComparePredicate predicate, const Val &lhs,
              const Val &rhs);
  Val select(const Val &pred, const Val &onTrue, const Val &onFalse);
  Val cast(const Val &x, DType dtype, bool saturate = true);
  /// x in f32 if it is a narrower float, else x.
  Val widen(const Val &x);

  //--- Movement ------------------------------------------------------------//

  /// NumPy's one-directional broadcast.
  Val broadcastTo(const Val &x, DimsRef shape);
  /// Dimension i of x becomes dimension dims[i].
  Val broadcast(const Val &x, DimsRef shape, DimsRef dims);
  Val reshape(const Val &x, DimsRef shape);
  Val transpose(const Val &x, DimsRef permutation);
  /// In-range offsets; `sizes` elements with `strides` (any sign, not 0).
  Val slice(const Val &x, DimsRef offsets, DimsRef sizes, DimsRef strides);
  /// Elements [start, start + size) of one axis.
  Val sliceAxis(const Val &x, int64_t axis, int64_t start, int64_t size,
                int64_t stride = 1);
  /// Pads by non-negative amounts with the rank-0 `value`.
  Val pad(const Val &x, const Val &value, DimsRef low, DimsRef high);
  Val concat(llvm::ArrayRef<Val> vals, int64_t axis);
  Val gather(const Val &x, const Val &indices, int64_t axis);
  /// 0, 1, 2, ... along `dimension`.
  Val iota(DType dtype, DimsRef shape, int64_t dimension);

  //--- Reductions ----------------------------------------------------------//

  Val reduce(graph::ReduceKind kind, const Val &x, DimsRef dimensions,
             bool keepDims = false);

  /// Makes an op with one result of this type unless something failed;
  /// `build` gets the result type and returns the result.
  Val make(DType dtype, DimsRef shape,
           llvm::function_ref<mlir::Value(mlir::RankedTensorType)> build);

  mlir::OpBuilder &builder;

private:
  Val report(ImportFailure kind, const llvm::Twine &message);
  /// Reports hostile shapes.
  bool checkShape(DType dtype, DimsRef shape);
  /// A tensor for a result that may be folded, or nothing.
  std::optional<HostTensor> foldTarget(DType dtype, DimsRef shape,
                                       std::initializer_list<const Val *> from);
  Val unaryImpl(const Val &x, const UnaryFold &fold,
                llvm::function_ref<mlir::Value(mlir::RankedTensorType)> build);
  Val binaryImpl(Val &lhs, Val &rhs, const BinaryFold &fold,
                 llvm::function_ref<mlir::Value(mlir::RankedTensorType)> build);
  bool prepareBinary(Val &lhs, Val &rhs);

  const ImportOptions &options;
  mlir::Location loc;
  std::string prefix;
  ImportFailure failure = ImportFailure::None;
  int64_t folded = 0, made = 0;
  /// graph.constant ops by the bytes that they hold.
  llvm::DenseMap<const HostTensor *, mlir::Value> constants;
  /// Keeps the keys of `constants` alive.
  std::vector<std::shared_ptr<const HostTensor>> kept;
};

template <typename OpT>
Val Emitter::unary(const Val &x) {
  if (!x)
    return {};
  return unaryImpl(x, unaryFold<OpT>(), [&](mlir::RankedTensorType type) {
    return OpT::create(builder, loc, type, use(x)).getResult();
  });
}

template <typename OpT>
Val Emitter::binary(const Val &lhs, const Val &rhs) {
  Val a = lhs, b = rhs;
  if (!prepareBinary(a, b))
    return {};
  return binaryImpl(a, b, binaryFold<OpT>(), [&](mlir::RankedTensorType type) {
    return OpT::create(builder, loc, type, use(a), use(b)).getResult();
  });
}

/// "[2, 3]".
std::string describe(DimsRef shape);
/// A name from a file for a diagnostic: quoted, escaped, cut.
std::string quoted(llvm::StringRef name);
/// 0, 1, ..., count - 1.
Dims countUp(int64_t count, int64_t from = 0);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_EMITTER_H
