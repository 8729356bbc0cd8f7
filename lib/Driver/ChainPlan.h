//===- ChainPlan.h - what steps of a chain hand on --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the values between the steps of a chain lie, who makes them, and when
// the blocks of its cluster wait for each other (device/chain.cuh).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DRIVER_CHAINPLAN_H
#define FUSEC_DRIVER_CHAINPLAN_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Support/TargetInfo.h"
#include "fusec/Target/CUDA/CudaEmitter.h"

namespace fusec::driver {

/// A step of a chain.
struct ChainStep {
  /// Blocks of its program, which the cluster shares out, or each block does
  /// by itself.
  int64_t blocks = 0;
  bool isRepeated = false;
  /// The last meeting that its blocks wait for first, and the one that the
  /// first of what they send is for, its next ones are for the next; -1: none.
  int waits = -1, sends = -1;
  /// In memory: all blocks meet after it. Kept: all of them meet before it,
  /// because it writes where others were read.
  bool meets = false;
};

/// How a chain runs.
struct ChainPlan {
  cuda::ChainForm form;
  llvm::SmallVector<ChainStep> steps;
  /// Where values are kept: by step and buffer, the first byte; -1: in memory.
  llvm::SmallVector<llvm::SmallVector<int64_t>> places;
  /// Bytes that each meeting brings to each block.
  llvm::SmallVector<int64_t> meetingBytes;
  /// Dynamic shared memory of a block.
  int64_t sharedBytes = 0;
};

/// Shared arrays of the programs of a chain that few exceed.
constexpr int64_t kUsualArenaBytes = 20 * 1024;

/// Plans the chain of `fusions`, whose programs are `kernels`; those that are
/// `repeated` are done by every block where it can be. Values between them are
/// kept in shared memory if all of them can be: elements of 4 or 8 bytes, known
/// sizes, room for those that are alive beside `arenaBytes` of shared arrays of
/// the programs, which their text tells. Linear in the number of steps times
/// that of values alive.
ChainPlan planChain(llvm::ArrayRef<graph::FusionOp> fusions,
                    llvm::ArrayRef<simt::KernelOp> kernels,
                    llvm::ArrayRef<bool> repeated, const TargetInfo &target,
                    int64_t arenaBytes = kUsualArenaBytes);

/// Whether values of this type can be kept by blocks.
bool canBeKept(mlir::Type type);

} // namespace fusec::driver

#endif // FUSEC_DRIVER_CHAINPLAN_H
