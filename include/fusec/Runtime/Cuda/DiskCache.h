//===- DiskCache.h - compiled kernels on disk -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of compiled kernels, shared by processes without locks. One file is
// one module with all that is needed to load it, written whole and renamed into
// place, and checked whole before anything of it is believed. A file has one
// name (hard link) for each kernel in it.
//
// The cache never makes a compilation fail: what is missing, damaged, foreign
// or not writable is a miss, and one warning per process says why.
//
// Whoever can write to the folder can run code on the GPU as its owner.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_CUDA_DISKCACHE_H
#define FUSEC_RUNTIME_CUDA_DISKCACHE_H

#include "fusec/Runtime/Cuda/Nvrtc.h"

#include <array>
#include <functional>

namespace fusec::runtime {

/// SHA-256 of everything that a compilation depends on.
using KernelKey = std::array<uint8_t, 32>;

/// A kernel within a stored module, with what a launch needs to know of it.
struct StoredKernel {
  KernelKey key = {};
  /// Empty where the module as a whole is meant.
  std::string entry;
  uint32_t threads = 1;
  uint32_t cluster = 1;
  KernelResources resources;
};

/// What one file holds.
struct StoredModule {
  std::shared_ptr<const CompiledModule> module;
  std::vector<StoredKernel> kernels;
};

/// The bytes of a file for `stored`.
std::string encodeModule(const StoredModule &stored);

/// Reads what `encodeModule` wrote. Never reads outside `bytes`; fails on any
/// bit that differs, on another layout version and on trailing bytes.
llvm::Expected<StoredModule> decodeModule(llvm::StringRef bytes);

struct DiskCacheOptions {
  /// Made (0700) when the first file is written.
  std::string directory;
  /// Files used longest ago are removed beyond this.
  uint64_t maxBytes = uint64_t(1) << 30;
  /// Gets the warning; empty prints it to stderr.
  std::function<void(const std::string &)> warn = {};
};

/// A cache folder. Thread-safe. Several objects and processes may use one
/// folder.
class DiskCache {
public:
  explicit DiskCache(DiskCacheOptions options);
  ~DiskCache();

  /// The cache that the environment asks for: FUSEC_CACHE=off gives null;
  /// FUSEC_CACHE_DIR, else XDG_CACHE_HOME/fusec, else ~/.cache/fusec is the
  /// folder; FUSEC_CACHE_SIZE bounds its bytes (suffixes K, M, G). One object
  /// per process; null too where no folder can be named.
  static std::shared_ptr<DiskCache> standard();
  /// What `standard` is made with; empty where it is null. `problem` says what
  /// of the environment could not be read, if anything.
  static std::optional<DiskCacheOptions> standardOptions(std::string &problem);
  /// The folder that `standard` would use; empty for none.
  static std::string standardDirectory();

  /// The module that has a kernel of this key; empty for a miss.
  std::optional<StoredModule> find(const KernelKey &key);
  /// Stores a module under the keys of its kernels.
  void insert(const StoredModule &stored);

  struct Statistics {
    uint64_t hits = 0, misses = 0, stored = 0;
    /// Files that did not verify and were removed.
    uint64_t damaged = 0;
  };
  Statistics statistics() const;
  const std::string &directory() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// What a folder holds, as `fusec cache` shows it.
struct CacheReport {
  uint64_t modules = 0, kernels = 0, bytes = 0;
  /// Names of files that do not verify.
  std::vector<std::string> damaged;
};

/// Counts the files; with `verify` reads and checks each and removes those
/// that are damaged. A folder that does not exist is empty.
llvm::Expected<CacheReport> inspectCache(const std::string &directory,
                                         bool verify);

/// Removes the cache's own files (never the folder or anything else in it) and
/// says what was there.
llvm::Expected<CacheReport> clearCache(const std::string &directory);

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_CUDA_DISKCACHE_H
