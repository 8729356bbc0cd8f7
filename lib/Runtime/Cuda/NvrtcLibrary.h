//===- NvrtcLibrary.h - NVRTC's functions -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime/Cuda: own declarations of the part of NVRTC's C
// interface that fusec uses; it has been stable since version 11.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_NVRTCLIBRARY_H
#define FUSEC_LIB_RUNTIME_CUDA_NVRTCLIBRARY_H

#include "SharedLibrary.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"

namespace fusec::runtime {

using NvrtcResult = int; // 0 is success
using NvrtcProgram = void *;

struct Nvrtc::Impl {
  SharedLibrary shared;
  std::string path;
  int major = 0, minor = 0;
  /// Size and time of the library's file, empty if they cannot be found.
  std::string identity;
  std::vector<int> architectures;

  const char *(*getErrorString)(NvrtcResult);
  NvrtcResult (*version)(int *, int *);
  NvrtcResult (*getNumSupportedArchs)(int *);
  NvrtcResult (*getSupportedArchs)(int *);
  NvrtcResult (*createProgram)(NvrtcProgram *, const char *text,
                               const char *name, int headerCount,
                               const char *const *headerTexts,
                               const char *const *headerNames);
  NvrtcResult (*destroyProgram)(NvrtcProgram *);
  NvrtcResult (*compileProgram)(NvrtcProgram, int, const char *const *);
  NvrtcResult (*getPTXSize)(NvrtcProgram, size_t *);
  NvrtcResult (*getPTX)(NvrtcProgram, char *);
  NvrtcResult (*getCUBINSize)(NvrtcProgram, size_t *);
  NvrtcResult (*getCUBIN)(NvrtcProgram, char *);
  NvrtcResult (*getProgramLogSize)(NvrtcProgram, size_t *);
  NvrtcResult (*getProgramLog)(NvrtcProgram, char *);
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_NVRTCLIBRARY_H
