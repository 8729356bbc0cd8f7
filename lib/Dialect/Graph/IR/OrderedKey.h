//===- OrderedKey.h - elements and their places in one order ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `arg_reduce` and `top_k` look for: the order of a dimension's elements.
// NaN comes before every number, both zeros are equal, ties go by the index.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DIALECT_GRAPH_IR_ORDEREDKEY_H
#define FUSEC_LIB_DIALECT_GRAPH_IR_ORDEREDKEY_H

#include "GraphCombine.h"

namespace fusec::graph::ops {

/// A signed integer for an element and its place along a dimension, greater for
/// the element that comes first: a score of the value above the bits of the
/// place. No two elements of the dimension have the same.
class OrderedKey {
public:
  /// The order of `operand` along `dimension` from the greatest down (`isMax`)
  /// or from the least up; of equal elements the last comes first (`last`), or
  /// the first.
  OrderedKey(mlir::RankedTensorType operand, int64_t dimension, bool isMax,
             bool last)
      : element(operand.getElementType()), size(operand.getDimSize(dimension)),
        isMax(isMax), last(last) {}

  /// 32 for elements of 8 and 16 bits on dimensions up to 65536, 64 for those
  /// of up to 32 bits below 2^32; 0: there is no key.
  unsigned getBits() const;
  /// iN of that width.
  mlir::Type getType(mlir::MLIRContext *context) const;
  /// The key of `value` (in its compute type) at `place` (index).
  mlir::Value build(ElementBuilder &builder, mlir::Value value,
                    mlir::Value place) const;
  /// A number that orders as elements do, but for their places and NaN: a float
  /// itself, the score of an integer.
  mlir::Value buildCoarse(ElementBuilder &builder, mlir::Value value) const;
  /// Whether (i1) an element of the number `coarse` may have a key above `key`;
  /// true if that is the least integer.
  mlir::Value buildMayExceed(ElementBuilder &builder, mlir::Value coarse,
                             mlir::Value key) const;
  /// The place of a key as an element of `result`.
  mlir::Value buildIndex(ElementBuilder &builder, mlir::Value key,
                         mlir::Type result) const;

private:
  mlir::Value placeMask(ElementBuilder &builder) const;
  /// The score above the place in `key` (i32); clear below it where isWide.
  mlir::Value buildScore(ElementBuilder &builder, mlir::Value key) const;
  /// 32 bits for 16-bit floats of f32's exponent, whose scores are f32's.
  bool isWide() const {
    return getBits() == 32 && llvm::isa<mlir::BFloat16Type>(element);
  }

  mlir::Type element;
  int64_t size;
  bool isMax, last;
};

/// The loops of an op that looks through one dimension of its operand.
IterationSpace spaceAlong(mlir::RankedTensorType operand, int64_t dimension);

/// The type that carries an index below `size`: registers are cheaper in i32.
mlir::Type carriedIndexType(mlir::MLIRContext *context, int64_t size);

/// True where `lhs` beats `rhs` by value, and where they tie. NaN beats every
/// number and ties with NaN.
std::pair<mlir::Value, mlir::Value>
compareValues(ElementBuilder &builder, bool isMax, mlir::Type elementType,
              mlir::Value lhs, mlir::Value rhs);

} // namespace fusec::graph::ops

#endif // FUSEC_LIB_DIALECT_GRAPH_IR_ORDEREDKEY_H
