//===- LoopTest.h - one test for all accesses of a loop ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_LOOPTEST_H
#define FUSEC_LIB_TARGET_CUDA_LOOPTEST_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fusec::cuda {

/// A masked access that is made for each of a thread's registers.
struct LoopTest {
  /// A simt.load or simt.store; null: there is no such access.
  mlir::Operation *access = nullptr;
  mlir::Value mask;
  /// Of a load: what is read where the mask does not hold.
  mlir::Value other;

  explicit operator bool() const { return access; }
};

/// The access of `loop`, of `count` iterations, if it is all that the loop does
/// and its mask is the same in all of them.
LoopTest findLoopTest(mlir::scf::ForOp loop, int64_t count);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_LOOPTEST_H
