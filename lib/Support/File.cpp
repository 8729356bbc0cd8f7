//===- File.cpp - reading and writing whole files -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/File.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fusec;
using llvm::Error;
using llvm::Expected;

FileHandle &FileHandle::operator=(FileHandle &&other) noexcept {
  std::swap(fd, other.fd);
  return *this;
}

FileHandle::~FileHandle() {
  if (fd >= 0)
    ::close(fd);
}

static Error systemError(llvm::StringRef path, const char *what) {
  int code = errno;
  return llvm::createStringError(std::error_code(code, std::generic_category()),
                                 "cannot %s '%s': %s", what, path.str().c_str(),
                                 std::strerror(code));
}

/// Asks for large pages under a large buffer: filling it then takes a five
/// hundredth of the page faults. Only advice.
static void useLargePages(char *data, size_t size) {
  constexpr size_t kPage = 4096, kWorthwhile = size_t(8) << 20;
  if (size < kWorthwhile)
    return;
  auto begin = llvm::alignTo(reinterpret_cast<uintptr_t>(data), kPage);
  auto end = llvm::alignDown(reinterpret_cast<uintptr_t>(data) + size, kPage);
  (void)::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}

Error fusec::readExactly(int fd, void *to, uint64_t size, uint64_t offset) {
  char *out = static_cast<char *>(to);
  while (size != 0) {
    size_t chunk = std::min<uint64_t>(size, uint64_t(1) << 30);
    ssize_t got = ::pread(fd, out, chunk, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return llvm::createStringError(
          std::error_code(errno, std::generic_category()), "read failed: %s",
          std::strerror(errno));
    if (got == 0)
      return llvm::createStringError(
          "the file ended %llu bytes before the expected end",
          static_cast<unsigned long long>(size));
    out += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
  return Error::success();
}

Expected<std::unique_ptr<llvm::MemoryBuffer>>
fusec::readRegularFile(llvm::StringRef path, uint64_t maxBytes) {
  std::string name = path.str();
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  FileHandle file(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file)
    return systemError(path, "open");
  struct stat status;
  if (::fstat(file.get(), &status) != 0)
    return systemError(path, "examine");
  if (!S_ISREG(status.st_mode))
    return llvm::createStringError("'%s' is not a regular file", name.c_str());
  uint64_t size = static_cast<uint64_t>(status.st_size);
  if (size > maxBytes)
    return llvm::createStringError(
        "'%s' has %llu bytes, above the limit of %llu", name.c_str(),
        static_cast<unsigned long long>(size),
        static_cast<unsigned long long>(maxBytes));
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(size, name);
  if (!buffer)
    return llvm::createStringError("no memory to read '%s'", name.c_str());
  useLargePages(buffer->getBufferStart(), size);
  if (Error error = readExactly(file.get(), buffer->getBufferStart(), size, 0))
    return llvm::createStringError("'%s': %s", name.c_str(),
                                   llvm::toString(std::move(error)).c_str());
  return std::unique_ptr<llvm::MemoryBuffer>(std::move(buffer));
}

Error fusec::writeFile(llvm::StringRef path, llvm::ArrayRef<char> contents) {
  std::string name = path.str();
  FileHandle file(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file)
    return systemError(path, "create");
  const char *from = contents.data();
  size_t left = contents.size();
  while (left != 0) {
    ssize_t put = ::write(file.get(), from, left);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return systemError(path, "write");
    from += put;
    left -= static_cast<size_t>(put);
  }
  return Error::success();
}
