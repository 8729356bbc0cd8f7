//===- CacheFolder.h - files of the disk cache ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime/Cuda: the operating system's side of the disk cache.
// Everything happens relative to one open folder, no link is followed, and no
// name comes from a file's contents.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_CACHEFOLDER_H
#define FUSEC_LIB_RUNTIME_CUDA_CACHEFOLDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec::runtime {

/// An open cache folder. Immutable; its methods may be called by several
/// threads and meet changes by other processes.
class CacheFolder {
public:
  /// Opens `path`; with `create` makes it and those above it (0700). Fails with
  /// `std::errc::no_such_file_or_directory` if it is not there. Refuses a link
  /// and a folder that others own or may write to.
  static llvm::Expected<CacheFolder> open(const std::string &path, bool create);
  CacheFolder(CacheFolder &&other) noexcept;
  CacheFolder &operator=(CacheFolder &&) = delete;
  ~CacheFolder();

  enum class Read : uint8_t { Ok, Missing, Refused };
  /// The whole file. Missing also where the file system says "not now".
  /// Refused: a link, no regular file, or one that others own or may write to.
  Read read(const std::string &name, std::string &contents) const;
  /// Marks a file as used now; for the order of removal.
  void touch(const std::string &name) const;

  /// Writes a file that then has all of `names`, each of them at once and in
  /// place of what was there. Readers see the old or the new file.
  llvm::Error write(llvm::ArrayRef<std::string> names,
                    llvm::StringRef contents) const;
  void remove(const std::string &name) const;

  /// One file and all its names.
  struct File {
    std::vector<std::string> names;
    uint64_t bytes = 0;
    /// Of last use, in nanoseconds since 1970.
    int64_t time = 0;
  };
  /// The files whose names end so, least recently used first. Files that
  /// writers left behind more than an hour ago are removed.
  std::vector<File> list(llvm::StringRef suffix) const;
  /// Removes what a writer, living or dead, has not yet renamed.
  void removeTemporaries() const;

private:
  explicit CacheFolder(int fd) : fd(fd) {}
  std::optional<std::string> writeTemporary(llvm::StringRef contents,
                                            int &error) const;
  int giveName(const std::string &temporary, const std::string &name) const;
  int fd;
};

/// The ending of the names of compiled kernels.
inline constexpr llvm::StringLiteral kCacheSuffix = ".fusec";

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_CACHEFOLDER_H
