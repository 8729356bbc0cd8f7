//===- Element.h - building one element of a tensor -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of FusibleOpInterface. An op says how one element of its
// result comes from elements of its operands; a schedule calls it with an
// index and a reader and so fuses whatever stands behind the reader.
//
// The same op code serves scalar and tile code: an ElementBuilder has a
// *carrier*, either none (values are scalars) or a tensor type with a layout
// encoding (values are tiles: tensors of that shape and encoding). arith and
// math ops act on both.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_ELEMENT_H
#define FUSEC_DIALECT_GRAPH_IR_ELEMENT_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace fusec::graph {

/// Makes arith and math ops on scalars or tiles. All values handed in must
/// have the builder's carrier. Cheap to copy.
class ElementBuilder {
public:
  /// Scalar values when `carrier` is null, else tiles of its shape and
  /// encoding (its element type is ignored).
  ElementBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::RankedTensorType carrier = {})
      : builder(builder), loc(loc), carrier(carrier) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  mlir::RankedTensorType getCarrier() const { return carrier; }

  /// The type in which elements of `elementType` are computed: f32 for the
  /// 16- and 8-bit floats, signless integers for unsigned ones, otherwise the
  /// type itself.
  static mlir::Type computeType(mlir::Type elementType);
  /// `scalar` lifted to the carrier.
  mlir::Type type(mlir::Type scalar) const;

  // Constants.
  mlir::Value index(int64_t value);
  mlir::Value boolean(bool value);
  /// `value` rounded once to the float type `scalar`.
  mlir::Value real(mlir::Type scalar, double value);
  /// `value` wrapped to the integer type `scalar`.
  mlir::Value integer(mlir::Type scalar, int64_t value);
  mlir::Value integer(const llvm::APInt &value);
  /// 0 of a compute type, float or integer.
  mlir::Value zero(mlir::Type scalar);
  mlir::Value one(mlir::Type scalar);

  // Index arithmetic. Operands are `index`. Division and remainder are by
  // positive constants and of non-negative values.
  mlir::Value addIndex(mlir::Value lhs, mlir::Value rhs);
  mlir::Value addIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value mulIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value divIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value remIndex(mlir::Value lhs, int64_t rhs);
  /// True where 0 <= value < bound.
  mlir::Value inRange(mlir::Value value, int64_t bound);
  /// An integer element as `index` (sign- or zero-extended).
  mlir::Value toIndex(mlir::Value integer, bool isUnsigned);
  /// An `index` as an element of the numeric tensor element type `elementType`
  /// in its compute type.
  mlir::Value fromIndex(mlir::Value index, mlir::Type elementType);
  /// The results of `map` (dims only) applied to `dims`.
  llvm::SmallVector<mlir::Value> apply(mlir::AffineMap map,
                                       mlir::ValueRange dims);
  /// Row-major linear index of `index` in `shape`, and its inverse.
  mlir::Value linearize(mlir::ValueRange index, llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear,
                                             llvm::ArrayRef<int64_t> shape);

  // Logic.
  mlir::Value logicalAnd(mlir::Value lhs, mlir::Value rhs);
  mlir::Value logicalOr(mlir::Value lhs, mlir::Value rhs);
  mlir::Value logicalNot(mlir::Value value);
  mlir::Value select(mlir::Value condition, mlir::Value ifTrue,
                     mlir::Value ifFalse);

  /// Converts an element between tensor element types, both sides in their
  /// compute types, with the meaning of `graph.cast`: to float rounds to
  /// nearest even *to the destination type*; float to integer truncates,
  /// saturates and gives 0 for NaN; integer to integer wraps; to bool is
  /// `x != 0`. `saturate` concerns float8 destinations only.
  mlir::Value convert(mlir::Value value, mlir::Type from, mlir::Type to,
                      bool saturate = true);
  /// Rounds a computed value to the precision of `elementType`, staying in the
  /// compute type. The identity where both have equal precision.
  mlir::Value roundTo(mlir::Value value, mlir::Type elementType);

  /// An op of class `OpT` on values of this carrier.
  template <typename OpT, typename... Args>
  mlir::Value make(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::RankedTensorType carrier;
};

/// How an op's code gets elements of its operands. Values come in compute
/// types.
class ElementReader {
public:
  virtual ~ElementReader() = default;
  /// Element `index` of operand `operand`; the caller guarantees the range.
  mlir::Value read(unsigned operand, mlir::ValueRange index) {
    return readMasked(operand, index, {}, {});
  }
  /// The element where `mask` holds, else `other`; `index` may be out of range
  /// where `mask` is false. A null `mask` means true everywhere.
  virtual mlir::Value readMasked(unsigned operand, mlir::ValueRange index,
                                 mlir::Value mask, mlir::Value other) = 0;
};

/// How one operand is indexed by an op's loops.
struct OperandAccess {
  /// (parallel dims, reduced dims) -> operand dims. Null if the position
  /// depends on data (`isIndirect`).
  mlir::AffineMap map;
  /// Some points of the iteration space read nothing (pad, concat, windows).
  bool isMasked = false;
  bool isIndirect = false;
};

/// The loops of an op. Dynamic sizes are ShapedType::kDynamic.
struct IterationSpace {
  llvm::SmallVector<int64_t> parallel;
  llvm::SmallVector<int64_t> reduced;
  llvm::SmallVector<OperandAccess> operands;
};

/// Loops over the reduced axes of a reduction at one parallel index and
/// returns result `result`: the default `buildElement` of reductions.
/// Null if reduced sizes, or the sizes of operands that are read masked, are
/// not static.
mlir::Value buildReductionLoops(mlir::Operation *op, ElementBuilder &builder,
                                unsigned result, mlir::ValueRange index,
                                ElementReader &reader);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_ELEMENT_H
