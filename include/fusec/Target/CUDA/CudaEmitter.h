//===- CudaEmitter.h - thread programs as CUDA C++ --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TARGET_CUDA_CUDAEMITTER_H
#define FUSEC_TARGET_CUDA_CUDAEMITTER_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Runtime/Program.h"

namespace fusec::cuda {

/// Writes `kernel` as CUDA C++ that calls only the prelude
/// (docs/architecture.md section 5). The text does not contain the prelude. The
/// entry point is named after a hash of the text, so equal programs give equal
/// kernels, whatever their symbol, grid and extents. Deterministic. Fails with
/// a diagnostic on an op that has no text. A kernel around a contraction
/// skeleton also needs the skeleton's text after the prelude
/// (Kernel::usesSkeleton).
mlir::FailureOr<runtime::Kernel> emitKernel(simt::KernelOp kernel);

/// How the programs of one kernel run.
enum class JointOrder {
  /// Side by side, each in blocks of its own.
  Parallel,
  /// One after the other in one block, which walks their grids.
  Serial
};

/// One kernel for several thread programs of equal thread counts.
struct JointKernel {
  runtime::Kernel kernel;
  /// The programs in the order of their entries: those of one body are
  /// neighbours.
  llvm::SmallVector<unsigned> order;
  JointOrder runs = JointOrder::Parallel;
  /// By program: its entry holds the first two sizes of its grid after the
  /// arguments.
  llvm::SmallVector<bool> usesGrid;
};

/// Writes `kernels` as one kernel; its grid is their grids one after the other,
/// or one block that does the programs in turn. Programs of equal text,
/// whatever their grid and extents, are one device function; what differs is in
/// a table that is the only parameter:
///
///     i32 first[parts]          Parallel: first block of each entry
///     i32 entry[parts]          Serial: the entry of each program
///     i32 blocks[parts]         Serial: its number of blocks
///     per part in `order`       buffers, then extents (i64), then the grid's
///                               first two sizes (i64) if `usesGrid`
///
/// The text thus grows with the number of bodies, not of parts. Shared arrays
/// of all programs lie in one arena of the largest need. Skeletons have launch
/// needs of their own and are refused with a diagnostic. In a Serial kernel all
/// buffers are read as memory that it also writes.
mlir::FailureOr<JointKernel>
emitJointKernel(llvm::ArrayRef<simt::KernelOp> kernels, JointOrder runs);

/// A tensor map that a launch passes after all other arguments.
struct TensorBoxes {
  /// The kernel argument that is the map's buffer; `map.buffer` is not set.
  unsigned argument = 0;
  runtime::TensorMapArg map;
};

/// The tensor maps of `kernel`, in the order of its last parameters.
llvm::SmallVector<TensorBoxes> tensorBoxes(simt::KernelOp kernel);

/// Dynamic shared memory that a launch of `kernel` must give, in bytes.
uint32_t dynamicSharedBytes(simt::KernelOp kernel);

} // namespace fusec::cuda

#endif // FUSEC_TARGET_CUDA_CUDAEMITTER_H
