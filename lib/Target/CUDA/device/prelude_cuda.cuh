//===- prelude_cuda.cuh - the prelude in one -------------------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs and headers that nvcc compiles: the files that CMakeLists.txt
// puts together for NVRTC, in the same order. prelude_language.cuh says what
// the prelude is and what its functions have in common.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_CUDA_CUH
#define FUSEC_PRELUDE_CUDA_CUH

// The order matters: they include nothing themselves.
// clang-format off
#include "prelude_language.cuh"
#include "prelude_numbers.cuh"
#include "prelude_memory.cuh"
#include "prelude_threads.cuh"
#include "prelude_tensor.cuh"
#include "prelude_math.cuh"
#include "prelude_integers.cuh"
// clang-format on

#endif // FUSEC_PRELUDE_CUDA_CUH
