//===- CublasLtLibrary.h - cuBLASLt's functions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime/Cuda: own declarations of the part of cuBLASLt's C
// interface that fusec uses, which has been stable since version 12. No header
// of CUDA is needed; CublasLtAbiTest.cpp compares them where there is one.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_CUBLASLTLIBRARY_H
#define FUSEC_LIB_RUNTIME_CUDA_CUBLASLTLIBRARY_H

#include "SharedLibrary.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace fusec::runtime::cublas {

using Status = int; // 0 is success
using Handle = void *;
/// Of an operation, a matrix's layout, a search's preferences.
using Descriptor = void *;

/// cublasLtMatmulAlgo_t: opaque, kept and restored as it is for one version.
struct Algorithm {
  std::array<uint64_t, 8> words;
};

/// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  Status state;
  float waves;
  int reserved[4];
};

// cudaDataType_t.
inline constexpr int kF32 = 0, kF16 = 2, kI8 = 3, kI32 = 10, kBF16 = 14,
                     kE4M3 = 28, kE5M2 = 29;
// cublasComputeType_t. Pedantic f32 is f32 whatever the environment allows.
inline constexpr int kCompute32F = 68, kCompute32FPedantic = 69,
                     kCompute32I = 72, kComputeTf32 = 77;
// cublasOperation_t.
inline constexpr int32_t kPlain = 0, kTransposed = 1;
// cublasLtMatmulDescAttributes_t.
inline constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7,
                     kDescBias = 8, kDescFastAccum = 25;
// cublasLtEpilogue_t: bits, but for the first.
inline constexpr uint32_t kEpilogueNone = 1, kEpilogueRelu = 2,
                          kEpilogueBias = 4;
// cublasLtMatrixLayoutAttribute_t.
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchOffset = 6;
// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int kPreferMaxWorkspace = 1, kPreferReductions = 3,
                     kPreferAlignmentA = 5, kPreferAlignmentB = 6,
                     kPreferAlignmentC = 7, kPreferAlignmentD = 8;
// cublasLtReductionScheme_t: partial sums in the type of sums, in the
// workspace, added in a fixed order. The others add in the result or in its
// type.
inline constexpr uint32_t kReductionNone = 0, kReductionInWorkspace = 2;
// cublasLtMatmulAlgoConfigAttributes_t.
inline constexpr int kConfigId = 0, kConfigTile = 1, kConfigSplit = 2,
                     kConfigReduction = 3, kConfigSwizzle = 4,
                     kConfigCustom = 5, kConfigStages = 6, kConfigInner = 7,
                     kConfigCluster = 8;

/// The opened library. Immutable and thread-safe; never unloaded.
struct Library {
  /// Opens the file that FUSEC_CUBLASLT in the environment names, else the
  /// newest libcublasLt.so of a major version from 12 to `maxMajor` (0: any).
  /// The error is one sentence with the remedy.
  static llvm::Expected<std::shared_ptr<const Library>> open(unsigned maxMajor);

  llvm::Error check(Status status, const char *function) const;

  SharedLibrary symbols;
  std::string path;
  /// 130100 for 13.1.0.
  uint64_t version = 0;

  size_t (*getVersion)();
  const char *(*statusString)(Status);
  Status (*create)(Handle *);
  Status (*destroy)(Handle);
  Status (*matmul)(Handle, Descriptor operation, const void *alpha,
                   const void *a, Descriptor layoutA, const void *b,
                   Descriptor layoutB, const void *beta, const void *c,
                   Descriptor layoutC, void *d, Descriptor layoutD,
                   const Algorithm *, void *workspace, size_t workspaceBytes,
                   void *stream);
  Status (*operationCreate)(Descriptor *, int computeType, int scaleType);
  Status (*operationDestroy)(Descriptor);
  Status (*operationSet)(Descriptor, int attribute, const void *, size_t);
  Status (*layoutCreate)(Descriptor *, int type, uint64_t rows,
                         uint64_t columns, int64_t pitch);
  Status (*layoutDestroy)(Descriptor);
  Status (*layoutSet)(Descriptor, int attribute, const void *, size_t);
  Status (*preferenceCreate)(Descriptor *);
  Status (*preferenceDestroy)(Descriptor);
  Status (*preferenceSet)(Descriptor, int attribute, const void *, size_t);
  Status (*heuristic)(Handle, Descriptor operation, Descriptor layoutA,
                      Descriptor layoutB, Descriptor layoutC,
                      Descriptor layoutD, Descriptor preference, int wanted,
                      Heuristic *, int *found);
  Status (*algorithmCheck)(Handle, Descriptor operation, Descriptor layoutA,
                           Descriptor layoutB, Descriptor layoutC,
                           Descriptor layoutD, const Algorithm *, Heuristic *);
  Status (*algorithmGet)(const Algorithm *, int attribute, void *, size_t,
                         size_t *written);
};

} // namespace fusec::runtime::cublas

#endif // FUSEC_LIB_RUNTIME_CUDA_CUBLASLTLIBRARY_H
