//===- File.h - reading and writing whole files -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that users name are untrusted: they may be FIFOs, devices, huge, or
// changed while they are read. These helpers accept regular files only, cap
// the size before memory is asked for, and copy into memory instead of mapping
// (a mapped file that shrinks kills the process).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_FILE_H
#define FUSEC_SUPPORT_FILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>

namespace fusec {

/// An owned POSIX file descriptor.
class FileHandle {
public:
  explicit FileHandle(int fd = -1) : fd(fd) {}
  FileHandle(FileHandle &&other) noexcept : fd(other.fd) { other.fd = -1; }
  FileHandle &operator=(FileHandle &&other) noexcept;
  ~FileHandle();
  int get() const { return fd; }
  explicit operator bool() const { return fd >= 0; }

private:
  int fd;
};

/// Reads exactly `size` bytes at `offset`; a shorter file is an error.
llvm::Error readExactly(int fd, void *to, uint64_t size, uint64_t offset);

/// Reads a whole regular file of at most `maxBytes` bytes. The error names
/// the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(llvm::StringRef path, uint64_t maxBytes);

/// Creates or replaces `path` with `contents`. The error names the path.
llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<char> contents);

} // namespace fusec

#endif // FUSEC_SUPPORT_FILE_H
