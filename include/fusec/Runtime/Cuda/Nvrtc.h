//===- Nvrtc.h - CUDA C++ text to PTX and cubin -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC is opened at run time, so that fusec builds and runs without a CUDA
// toolkit, and compiles without a GPU: the target is a number.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_CUDA_NVRTC_H
#define FUSEC_RUNTIME_CUDA_NVRTC_H

#include "fusec/Runtime/Device.h"

namespace fusec::runtime {

/// Where to look for NVRTC. The environment variable FUSEC_NVRTC, if set, is
/// the path of the library and the only place.
struct NvrtcSearch {
  /// Looked into besides the loader's path and CUDA toolkits: each itself
  /// and, as in a Python site-packages folder, its nvidia/*/lib.
  std::vector<std::string> directories = {};
  /// The highest major version to accept, for example that of the driver; 0
  /// accepts any.
  unsigned maxMajor = 0;
  /// Whether to look anywhere but in `directories`.
  bool systemPlaces = true;
};

/// The opened library. Immutable and thread-safe; never unloaded.
class Nvrtc {
public:
  /// Opens the newest library found. The error is one sentence with the remedy;
  /// `tried`, if given, then gets a line with the reason for each file.
  static llvm::Expected<std::shared_ptr<const Nvrtc>>
  open(const NvrtcSearch &search = {}, std::string *tried = nullptr);
  ~Nvrtc();

  /// 13 and 0 for CUDA 13.0.
  int majorVersion() const;
  int minorVersion() const;
  /// What was opened, as given to the loader.
  const std::string &path() const;
  /// Compute capabilities (90 for 9.0) that it has code generators for.
  llvm::ArrayRef<int> architectures() const;

  struct Impl;
  const Impl &get() const { return *impl; }

private:
  explicit Nvrtc(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// A text that kernels can include by name.
struct NvrtcHeader {
  std::string name;
  std::string text;
};

/// How kernels are compiled. Everything here is part of the cache key.
struct NvrtcOptions {
  /// Compute capability as major * 10 + minor. From 90 on, the features of
  /// exactly that chip are on (sm_90a).
  unsigned architecture = 90;
  std::vector<NvrtcHeader> headers = {};
  /// The header that kernels on the contraction skeleton include besides; such
  /// kernels are compiled apart from others, which need not parse it.
  std::string skeletonHeader = {};
  /// Likewise the header of what only sm_90a has; included before that.
  std::string sm90Header = {};
  /// Line tables for profilers.
  bool lineInfo = false;
  /// Several times faster to compile, slower to run; for tests. Not for kernels
  /// that use what only sm_90a has.
  bool fastCompile = false;
  /// Passed on as they are, after fusec's own.
  std::vector<std::string> extraOptions = {};
  /// Only part of the key: what will load the result, 0 if nothing known will.
  int driverVersion = 0;
};

class DiskCache;

/// The name that NVRTC has for a compute capability: "sm_90a", "sm_80".
std::string nvrtcArchitecture(unsigned computeCapability);

/// What one call of NVRTC produced, for one or several kernels. Immutable.
struct CompiledModule {
  std::string ptx;
  std::vector<char> cubin;
  /// Warnings; empty if there are none.
  std::string log;
};

/// A kernel within a compiled module.
struct CompiledKernel {
  std::shared_ptr<const CompiledModule> module;
  std::string entry;
  /// As read from the cubin and the assembler's report.
  KernelResources resources;
};

/// Compiles one program text. `name` is for messages. The error has the API
/// name, its code and the whole program log.
llvm::Expected<std::shared_ptr<const CompiledModule>>
compileText(const Nvrtc &nvrtc, llvm::StringRef name, llvm::StringRef text,
            const NvrtcOptions &options);

/// Compiles kernels in parallel and remembers the results in memory and, where
/// it is given a cache, on disk. Thread-safe.
///
/// Kernels are put together into a few programs, because a program of twenty
/// kernels compiles several times faster than twenty programs. So the texts
/// should define nothing but their entries and may include the same headers.
/// If a program fails, its kernels are compiled one by one: a clash costs time
/// only, and an error is that of the bad kernel alone.
class NvrtcCompiler {
public:
  NvrtcCompiler(std::shared_ptr<const Nvrtc> nvrtc, NvrtcOptions options,
                std::shared_ptr<DiskCache> disk = nullptr);
  ~NvrtcCompiler();

  /// One result per kernel, in order. `threads` of 0 means one per processor.
  llvm::Expected<std::vector<CompiledKernel>>
  compileAll(llvm::ArrayRef<Kernel> kernels, unsigned threads = 0);

  /// All kernels as one module, for tools that write PTX or cubin files.
  llvm::Expected<std::shared_ptr<const CompiledModule>>
  compileTogether(llvm::ArrayRef<Kernel> kernels);

  const Nvrtc &nvrtc() const;
  const NvrtcOptions &options() const;

  struct Statistics {
    uint64_t hits = 0;     // kernels found in memory
    uint64_t diskHits = 0; // kernels found on disk
    uint64_t compiled = 0; // kernels compiled
    uint64_t programs = 0; // calls of NVRTC
  };
  Statistics statistics() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_CUDA_NVRTC_H
