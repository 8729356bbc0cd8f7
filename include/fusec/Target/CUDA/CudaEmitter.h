//===- CudaEmitter.h - thread programs as CUDA C++ --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TARGET_CUDA_CUDAEMITTER_H
#define FUSEC_TARGET_CUDA_CUDAEMITTER_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Runtime/Program.h"

namespace fusec::cuda {

/// Writes `kernel` as CUDA C++ that calls only the prelude (docs/architecture.md
/// section 5). The text does not contain the prelude. The entry point is named
/// after a hash of the text, so equal programs give equal kernels, whatever
/// their symbol, grid and extents. Deterministic. Fails with a diagnostic on an
/// op that has no text. A kernel around a contraction skeleton also needs the
/// skeleton's text after the prelude (Kernel::usesSkeleton).
mlir::FailureOr<runtime::Kernel> emitKernel(simt::KernelOp kernel);

/// Dynamic shared memory that a launch of `kernel` must give, in bytes.
uint32_t dynamicSharedBytes(simt::KernelOp kernel);

} // namespace fusec::cuda

#endif // FUSEC_TARGET_CUDA_CUDAEMITTER_H
