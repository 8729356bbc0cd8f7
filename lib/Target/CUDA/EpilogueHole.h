//===- EpilogueHole.h - what an epilogue hole reads and stores --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts on the last hole of a contraction (docs/skeleton-contraction.md), whose
// arguments are batch, row, column and sums.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_EPILOGUEHOLE_H
#define FUSEC_LIB_TARGET_CUDA_EPILOGUEHOLE_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "llvm/ADT/SetVector.h"

namespace fusec::cuda {

/// The arithmetic before an address of the epilogue hole.
class Address {
public:
  explicit Address(mlir::Block &hole) : hole(hole) {}
  /// Whether `value` follows from coordinates alone.
  bool add(mlir::Value value);
  bool dependsOn(unsigned coordinate) const { return coordinates[coordinate]; }
  /// Operations in the order in which they are to be written, and variables of
  /// loops over registers that they use.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops.getArrayRef(); }
  llvm::ArrayRef<mlir::Value> getLoopVariables() const {
    return loops.getArrayRef();
  }

private:
  mlir::Block &hole;
  bool coordinates[3] = {};
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::Value> loops;
};

/// Whether the epilogue hole does nothing beside stores that a condition can
/// stand before, and reads nothing that may be the place of another result.
/// Such reads go to `reads`, where that is given: a condition can stand before
/// them, too.
bool canMask(mlir::Block &hole, llvm::DenseSet<mlir::Operation *> *reads);

/// Bytes that a call of the epilogue hole for `columns` results reads.
int64_t bytesRead(mlir::Block &hole, int64_t columns);

/// The store of the results if they turn in shared memory (gemm_turn.cuh): the
/// only one of the hole, of 16 bits and two by two. Null where they do not.
simt::StoreOp turnedStore(mlir::Block &hole);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_EPILOGUEHOLE_H
