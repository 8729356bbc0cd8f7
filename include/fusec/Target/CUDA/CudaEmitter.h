//===- CudaEmitter.h - thread programs as CUDA C++ --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TARGET_CUDA_CUDAEMITTER_H
#define FUSEC_TARGET_CUDA_CUDAEMITTER_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Runtime/Program.h"

namespace fusec::cuda {

/// Buffers that a kernel has as rows (device/rolled.cuh).
struct RowBuffers {
  /// Elements of a row, 0 if the rows cannot be rolled, and of a vector of the
  /// narrowest. The text depends on neither.
  int64_t columns = 0, unit = 0;
  /// By buffer; none of those that are past the end.
  llvm::SmallVector<bool> isRow = {};
};

/// Writes `kernel` as CUDA C++ that calls only the prelude
/// (docs/architecture.md section 5). The text does not contain the prelude. The
/// entry point is named after a hash of the text, so equal programs give equal
/// kernels, whatever their symbol, grid and extents. Deterministic. Fails with
/// a diagnostic on an op that has no text. A kernel around a contraction
/// skeleton also needs the skeleton's text after the prelude
/// (Kernel::usesSkeleton).
mlir::FailureOr<runtime::Kernel> emitKernel(simt::KernelOp kernel,
                                            const RowBuffers &rows = {});

/// One kernel for several thread programs of equal thread counts.
struct JointKernel {
  runtime::Kernel kernel;
  /// The programs in the order of their entries: those of one body are
  /// neighbours.
  llvm::SmallVector<unsigned> order;
  /// Bytes of shared arrays.
  int64_t arenaBytes = 0;
  /// By program: its entry holds the first two sizes of its grid after the
  /// arguments.
  llvm::SmallVector<bool> usesGrid;
};

/// Writes `kernels` as one kernel whose grid is their grids one after the
/// other. Programs of equal text, whatever their grid and extents, are one
/// device function; what differs is in a table that is the only parameter:
///
///     i32 first[parts]          first block of each part
///     per part in `order`       buffers, then extents (i64), then the grid's
///                               first two sizes (i64) if `usesGrid`
///
/// The text thus grows with the number of bodies, not of parts. Shared arrays
/// of all programs lie in one arena of the largest need. Skeletons have launch
/// needs of their own and are refused with a diagnostic.
/// `rows` are those of each program, or none.
mlir::FailureOr<JointKernel>
emitJointKernel(llvm::ArrayRef<simt::KernelOp> kernels,
                llvm::ArrayRef<RowBuffers> rows = {});

/// How a program of a chain has a buffer (device/chain.cuh).
enum class ChainAccess : uint8_t {
  /// In memory.
  Memory,
  /// In each block's shared memory, which loads and stores are to.
  Kept,
  /// The same, where stores go to all blocks.
  Sent,
  /// The same, where stores go to memory, too.
  SentOut,
};

/// How programs run one after the other on one cluster of `blocks` blocks.
struct ChainForm {
  unsigned blocks = 0;
  /// By program and buffer; empty: all are in memory.
  llvm::SmallVector<llvm::SmallVector<ChainAccess>> accesses;
  /// Where values are kept: meetings of the blocks, and whether all of them
  /// meet before some step.
  unsigned meetings = 0;
  bool syncs = false;

  bool keepsValues() const { return !accesses.empty(); }
};

/// The same for programs that run one after the other on one cluster (sm_90).
/// With all buffers in memory the blocks share out those of each program; the
/// table begins with
///
///     i32 entry[parts]          the entry of each program
///     i32 blocks[parts]         its number of blocks
///     i32 meets[parts]          not 0: the blocks meet before the next program
///
/// and all buffers are read as memory that the kernel also writes. Where values
/// are kept it begins with
///
///     i32 bytes[meetings]       that come to each block for each meeting
///     ChainStep step[parts + 1] six i32 each; the last is read and not used
///
/// A kept buffer is an i32 in an entry, its first word of 8 bytes; `SentOut`
/// has the pointer behind it.
mlir::FailureOr<JointKernel>
emitChainKernel(llvm::ArrayRef<simt::KernelOp> kernels, const ChainForm &form);

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
