//===- HoleStream.h - a hole as reads and arithmetic ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an operand streams (gemm_stream.cuh) its hole is written as two
// functions: one reads and keeps what it read packed, the other computes.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_HOLESTREAM_H
#define FUSEC_LIB_TARGET_CUDA_HOLESTREAM_H

#include "Emitter.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace fusec::cuda {

class HoleStream {
public:
  /// `late` are the ops of `hole` that depend on k; the loads among them depend
  /// on no other load. Both must live longer than this.
  HoleStream(mlir::Block &hole, const llvm::DenseSet<mlir::Operation *> &late);

  /// Register arrays that loads fill: the number of elements of an access.
  llvm::MapVector<mlir::Value, int64_t> arrays;
  /// Ops of loads that are copies to shared memory, or of all others, with all
  /// that their addresses need.
  llvm::DenseSet<mlir::Operation *> readsOf(bool isStaged) const;
  /// True for ops that only the functions that read have: loads and their
  /// loops.
  bool isRead(mlir::Operation *op) const { return loads.contains(op); }
  /// The load that fills an array.
  simt::LoadOp loadOf(mlir::Value array) const;
  /// Whether the array has the same elements for all k inside their extent.
  bool isFixed(mlir::Value array) const;

  /// Whether one copy of 4 to 16 bytes fills an array.
  bool isStaged(mlir::Value array) const;
  /// The type and the name of what was read for an array.
  std::string typeOf(Emitter &emitter, mlir::Value array) const;
  std::string member(mlir::Value array) const;
  /// The text of what was read in the function that computes.
  std::string where(mlir::Value array) const;

  /// Shorter text for conversions of parts of packed elements to f32, and for
  /// what is subtracted from and multiplied with them; nothing for other ops.
  std::optional<std::string> shorten(Emitter &emitter,
                                     mlir::Operation *op) const;

  /// A number of 4 or 8 bits within the packed elements of an array: an integer
  /// or a whole 8-bit float.
  struct Field {
    mlir::Value array, index;
    int64_t width = 8;
    bool isSigned = false, isFloat = false;
    /// Bits before it in its element: `offset`, or `otherwise` where there is a
    /// condition that does not hold.
    int64_t offset = 0, otherwise = 0;
    mlir::Value condition;
  };
  /// The field that an f32 was converted from.
  std::optional<Field> fieldOf(mlir::Value number) const;
  /// The text of its bit among those of the elements.
  std::string bitOf(Emitter &emitter, const Field &field) const;

private:
  /// A float that is 2^15 or more too large, and by how much: `excess`, an
  /// integer, so that the difference is exact.
  struct Biased {
    std::string text, excess;
    double number = 0; // of `excess`, where it is known
  };

  std::optional<Field> partOf(mlir::Value integer, bool isSigned) const;
  std::optional<Biased> biasedOf(Emitter &emitter, mlir::Value value) const;
  void addRead(mlir::Operation *op,
               llvm::DenseSet<mlir::Operation *> &reads) const;

  mlir::Block &hole;
  const llvm::DenseSet<mlir::Operation *> &late;
  /// Each with the array that it fills.
  llvm::MapVector<mlir::Operation *, mlir::Value> loads;
};

/// What an array of one element holds, if it is stored once.
mlir::Value throughArray(mlir::Value value);

/// The least and the largest value of a float that was converted from an
/// integer of at most 8 bits, or from the 32 that one was widened to.
std::optional<std::pair<int64_t, int64_t>> smallRange(mlir::Value number);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_HOLESTREAM_H
