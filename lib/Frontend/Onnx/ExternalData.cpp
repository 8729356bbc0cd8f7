//===- ExternalData.cpp - files beside a model ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A location is opened one component at a time below an open folder, never
// following a symbolic link and never leaving by "..": what is opened lies in
// the folder, even if somebody swaps names meanwhile. Only what was opened is
// examined (fstat), and only regular files are read.
//===----------------------------------------------------------------------===//
#include "fusec/Frontend/Onnx/TensorData.h"
#include "fusec/Support/File.h"
#include "fusec/Support/Memory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fusec;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr size_t kMaxComponents = 64;

static Error refuse(StringRef location, const llvm::Twine &why) {
  return llvm::createStringError("external data '%s': %s",
                                 location.take_front(256).str().c_str(),
                                 why.str().c_str());
}

/// Splits a location into components, or refuses it.
static Expected<std::vector<std::string>> splitLocation(StringRef location) {
  if (location.empty())
    return refuse(location, "the location is empty");
  if (location.contains('\0'))
    return refuse(location, "the location holds a NUL byte");
  if (location.contains('\\'))
    return refuse(location, "the location holds a backslash");
  if (location.starts_with("/"))
    return refuse(location, "expected a relative location");
  std::vector<std::string> components;
  for (StringRef left = location; !left.empty();) {
    auto [component, rest] = left.split('/');
    if (component == "..")
      return refuse(location, "the location leaves the model's folder");
    if (!component.empty() && component != ".")
      components.push_back(component.str());
    if (components.size() > kMaxComponents)
      return refuse(location, "the location has too many components");
    left = rest;
  }
  if (components.empty())
    return refuse(location, "the location names no file");
  return components;
}

/// Opens the file of `components` below `folder`.
static Expected<FileHandle>
openBeneath(StringRef folder, StringRef location,
            const std::vector<std::string> &components) {
  FileHandle at(
      ::open(folder.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; at && i < components.size(); ++i) {
    bool last = i + 1 == components.size();
    // O_NONBLOCK: a FIFO must not wait for a writer.
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
                (last ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY);
    int fd = ::openat(at.get(), components[i].c_str(), flags);
    int code = errno;
    at = FileHandle(fd);
    errno = code;
  }
  if (at)
    return std::move(at);
  int code = errno;
  if (code == ELOOP || code == ENOTDIR)
    return refuse(location, "symbolic links are not followed, and every "
                            "component but the last must be a folder");
  return refuse(location, llvm::Twine("cannot open: ") + std::strerror(code));
}

Expected<std::vector<std::byte>>
fusec::onnx::readExternalData(StringRef folder, StringRef location,
                              uint64_t offset, std::optional<uint64_t> length,
                              uint64_t maxBytes, bool allowHardLinks) {
  auto components = splitLocation(location);
  if (!components)
    return components.takeError();
  Expected<FileHandle> file = openBeneath(folder, location, *components);
  if (!file)
    return file.takeError();
  struct stat status;
  if (::fstat(file->get(), &status) != 0)
    return refuse(location,
                  llvm::Twine("cannot examine: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return refuse(location, "not a regular file");
  if (status.st_nlink > 1 && !allowHardLinks)
    return refuse(location, "the file has several hard links");
  uint64_t size = static_cast<uint64_t>(status.st_size);
  if (offset > size)
    return refuse(location, "offset " + llvm::Twine(offset) +
                                " is beyond the file's " + llvm::Twine(size) +
                                " bytes");
  uint64_t wanted = length.value_or(size - offset);
  if (wanted > size - offset)
    return refuse(location, llvm::Twine(wanted) + " bytes at offset " +
                                llvm::Twine(offset) + " go beyond the file's " +
                                llvm::Twine(size) + " bytes");
  if (wanted > maxBytes)
    return refuse(location, llvm::Twine(wanted) +
                                " bytes are above the limit of " +
                                llvm::Twine(maxBytes));
  if (Error error = askForMemory(wanted, "external data"))
    return std::move(error);
  std::vector<std::byte> bytes(wanted);
  if (Error error = readExactly(file->get(), bytes.data(), wanted, offset))
    return refuse(location, llvm::toString(std::move(error)));
  return bytes;
}
