//===- CacheEntry.cpp - the layout of a file of the disk cache ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Little endian:
//
//   8  magic          4  layout version     4  number of kernels
//   8  bytes of the file                   32  SHA-256 of all other bytes
//   per kernel: 32 key, text entry, 4 threads, 4 cluster, 5 x (1 + 4) resources
//   text PTX, text log, text cubin
//
// where a text is 8 bytes of length and then its bytes. The digest covers the
// header too, so a file verifies only if every bit of it is as written.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/DiskCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr StringRef kMagic("FUSECKC\x1a", 8);
static constexpr uint32_t kLayout = 1;
static constexpr size_t kDigestAt = 24, kDigestBytes = 32;
static constexpr size_t kHeaderBytes = kDigestAt + kDigestBytes;

static constexpr std::optional<uint32_t> KernelResources::*kResources[] = {
    &KernelResources::registers, &KernelResources::staticSharedBytes,
    &KernelResources::localBytes, &KernelResources::spillStoreBytes,
    &KernelResources::spillLoadBytes};

template <typename T>
static void put(std::string &to, T value) {
  char bytes[sizeof(T)];
  llvm::support::endian::write<T>(bytes, value, llvm::endianness::little);
  to.append(bytes, sizeof(T));
}
static void putText(std::string &to, StringRef text) {
  put<uint64_t>(to, text.size());
  to += text;
}

static KernelKey digestOf(StringRef file) {
  llvm::SHA256 hash;
  hash.update(file.take_front(kDigestAt));
  hash.update(file.drop_front(kHeaderBytes));
  return hash.final();
}

static void putKernel(std::string &to, const StoredKernel &kernel) {
  to += llvm::toStringRef(llvm::ArrayRef(kernel.key));
  putText(to, kernel.entry);
  put(to, kernel.threads);
  put(to, kernel.cluster);
  for (auto field : kResources) {
    const std::optional<uint32_t> &value = kernel.resources.*field;
    put<uint8_t>(to, value.has_value());
    put<uint32_t>(to, value.value_or(0));
  }
}

std::string fusec::runtime::encodeModule(const StoredModule &stored) {
  const CompiledModule &module = *stored.module;
  std::string file(kMagic);
  put(file, kLayout);
  put<uint32_t>(file, stored.kernels.size());
  put<uint64_t>(file, 0);
  file.append(kDigestBytes, '\0');
  for (const StoredKernel &kernel : stored.kernels)
    putKernel(file, kernel);
  putText(file, module.ptx);
  putText(file, module.log);
  putText(file, StringRef(module.cubin.data(), module.cubin.size()));
  llvm::support::endian::write64le(&file[16], file.size());
  KernelKey digest = digestOf(file);
  std::copy(digest.begin(), digest.end(), file.begin() + kDigestAt);
  return file;
}

namespace {
// Takes values from the front of a text; `bad` once there were too few bytes.
class Reader {
public:
  explicit Reader(StringRef bytes) : rest(bytes) {}
  StringRef take(uint64_t count) {
    bad |= count > rest.size();
    StringRef front = rest.take_front(bad ? 0 : count);
    rest = rest.drop_front(front.size());
    return front;
  }
  template <typename T>
  T number() {
    StringRef bytes = take(sizeof(T));
    return bad ? T(0)
               : llvm::support::endian::read<T>(bytes.data(),
                                                llvm::endianness::little);
  }
  StringRef text() { return take(number<uint64_t>()); }
  bool failed() const { return bad; }
  bool atEnd() const { return !bad && rest.empty(); }

private:
  StringRef rest;
  bool bad = false;
};
} // namespace

static StoredKernel takeKernel(Reader &reader) {
  StoredKernel kernel;
  StringRef key = reader.take(kernel.key.size());
  std::copy(key.begin(), key.end(), kernel.key.begin());
  kernel.entry = reader.text().str();
  kernel.threads = reader.number<uint32_t>();
  kernel.cluster = reader.number<uint32_t>();
  for (auto field : kResources) {
    bool known = reader.number<uint8_t>() != 0;
    uint32_t value = reader.number<uint32_t>();
    if (known)
      kernel.resources.*field = value;
  }
  return kernel;
}

static Error checkHeader(StringRef file) {
  if (file.size() < kHeaderBytes || !file.starts_with(kMagic))
    return llvm::createStringError("expected a file of the kernel cache");
  uint32_t layout = llvm::support::endian::read32le(file.data() + 8);
  if (layout != kLayout)
    return llvm::createStringError("expected layout %u, found %u", kLayout,
                                   layout);
  uint64_t bytes = llvm::support::endian::read64le(file.data() + 16);
  if (bytes != file.size())
    return llvm::createStringError("expected %llu bytes, found %zu",
                                   static_cast<unsigned long long>(bytes),
                                   file.size());
  KernelKey digest = digestOf(file);
  if (file.substr(kDigestAt, kDigestBytes) !=
      llvm::toStringRef(llvm::ArrayRef(digest)))
    return llvm::createStringError("its contents do not match its digest");
  return Error::success();
}

Expected<StoredModule> fusec::runtime::decodeModule(StringRef file) {
  if (Error error = checkHeader(file))
    return std::move(error);
  uint32_t count = llvm::support::endian::read32le(file.data() + 12);
  Reader reader(file.drop_front(kHeaderBytes));
  StoredModule stored;
  for (uint32_t i = 0; i < count && !reader.failed(); ++i)
    stored.kernels.push_back(takeKernel(reader));
  auto module = std::make_shared<CompiledModule>();
  module->ptx = reader.text().str();
  module->log = reader.text().str();
  StringRef cubin = reader.text();
  module->cubin.assign(cubin.begin(), cubin.end());
  if (!reader.atEnd())
    return llvm::createStringError("its parts do not fill it");
  stored.module = std::move(module);
  return stored;
}
