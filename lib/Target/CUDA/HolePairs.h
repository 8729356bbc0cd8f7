//===- HolePairs.h - a hole's arithmetic on pairs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that stream as small integers, less a zero point and times a scale,
// are computed two at a time: pairs of 16-bit floats hold all digits of the
// integers and of the difference, and their product is rounded as the operand
// of a matrix product is. Two fields that are 16 bits apart become a pair by
// two instructions (GemmPacked::fields). 8-bit floats
// are such pairs, too.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_HOLEPAIRS_H
#define FUSEC_LIB_TARGET_CUDA_HOLEPAIRS_H

#include "HoleStream.h"

namespace fusec::cuda {

class HolePairs {
public:
  /// The pairs of what `hole` yields, as a product of elements of type
  /// `element` takes it; nothing where its values are something else.
  static std::optional<HolePairs> find(const HoleStream &stream,
                                       mlir::Block &hole, mlir::Type element);

  /// Elements along k from the first to the second one of a pair: 2 or 4, or 1
  /// for floats.
  int64_t apart() const { return field.isFloat ? 1 : 16 / field.width; }
  /// The array that the hole yields, and what is stored to it.
  mlir::Value array() const { return store->getOperand(1); }
  mlir::Value value() const { return store->getOperand(0); }
  /// Whether the text of a pair takes the place of `op`.
  bool replaces(mlir::Operation *op) const { return replaced.contains(op); }
  /// The word with the pair whose first element is `value()`.
  std::string text(Emitter &emitter, const HoleStream &stream) const;

private:
  bool match(const HoleStream &stream, mlir::Value value);
  bool matchDifference(const HoleStream &stream, mlir::Value value);
  bool liesInPairs(mlir::Value k, int64_t count);
  void collect();

  mlir::Operation *store = nullptr;
  mlir::Value variable; // of the loop over elements
  mlir::Type element;
  HoleStream::Field field;
  /// Subtracted from it: a number, or a float that both elements share.
  int64_t less = 0;
  mlir::Value zero;
  /// What multiplies both, of type `element`, or null.
  mlir::Value scale;
  llvm::DenseSet<mlir::Operation *> replaced;
};

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_HOLEPAIRS_H
