//===- DiskCache.cpp - compiled kernels on disk ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policy over CacheFolder: what is a hit, when files are removed, and that
// trouble is said once and never fails a compilation.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/DiskCache.h"
#include "CacheFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <mutex>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static std::string nameOf(const KernelKey &key) {
  return llvm::toHex(llvm::ArrayRef(key), /*LowerCase=*/true) +
         kCacheSuffix.str();
}

struct DiskCache::Impl {
  explicit Impl(DiskCacheOptions options) : options(std::move(options)) {}

  const CacheFolder *folder(bool create);
  void warn(const std::string &why);
  void removeDamaged(const CacheFolder &folder, const std::string &name);
  void removeBeyondLimit(const CacheFolder &folder, uint64_t added);

  DiskCacheOptions options;
  std::mutex mutex; // guards everything below
  std::optional<CacheFolder> opened;
  bool refused = false;  // the folder is not to be used
  bool readOnly = false; // a write failed
  bool warned = false;
  // Bytes in the folder as far as known, and writes since they were counted.
  std::optional<uint64_t> knownBytes;
  unsigned writesSinceCount = 0;
  Statistics statistics;
};

// Others write too, so the bytes are counted again now and then.
static constexpr unsigned kWritesPerCount = 64;

void DiskCache::Impl::warn(const std::string &why) {
  if (std::exchange(warned, true))
    return;
  std::string text = "kernel cache '" + options.directory + "': " + why;
  if (options.warn)
    options.warn(text);
  else
    llvm::errs() << "fusec: warning: " << text << '\n';
}

// Null where there is none to use. The mutex is held; the result stays valid.
const CacheFolder *DiskCache::Impl::folder(bool create) {
  if (opened)
    return &*opened;
  if (refused)
    return nullptr;
  Expected<CacheFolder> folder = CacheFolder::open(options.directory, create);
  if (folder) {
    opened.emplace(std::move(*folder));
    return &*opened;
  }
  std::string why;
  bool missing = false;
  llvm::handleAllErrors(folder.takeError(), [&](const llvm::StringError &e) {
    missing = e.convertToErrorCode() == std::errc::no_such_file_or_directory;
    why = e.getMessage();
  });
  // Not there yet is no trouble until it cannot be made.
  if (missing && !create)
    return nullptr;
  refused = true;
  warn(why + "; kernels are not kept");
  return nullptr;
}

void DiskCache::Impl::removeDamaged(const CacheFolder &folder,
                                    const std::string &name) {
  folder.remove(name);
  ++statistics.damaged;
}

// Least recently used first, down to nine tenths, so that it is not done at
// every write. A file in use by a reader stays readable for it.
void DiskCache::Impl::removeBeyondLimit(const CacheFolder &folder,
                                        uint64_t added) {
  if (knownBytes && ++writesSinceCount < kWritesPerCount) {
    *knownBytes += added;
    if (*knownBytes <= options.maxBytes)
      return;
  }
  std::vector<CacheFolder::File> files = folder.list(kCacheSuffix);
  uint64_t bytes = 0;
  for (const CacheFolder::File &file : files)
    bytes += file.bytes;
  uint64_t wanted = options.maxBytes - options.maxBytes / 10;
  if (bytes > options.maxBytes)
    for (const CacheFolder::File &file : files) {
      if (bytes <= wanted)
        break;
      for (const std::string &name : file.names)
        folder.remove(name);
      bytes -= file.bytes;
    }
  knownBytes = bytes;
  writesSinceCount = 0;
}

DiskCache::DiskCache(DiskCacheOptions options)
    : impl(std::make_unique<Impl>(std::move(options))) {}
DiskCache::~DiskCache() = default;

const std::string &DiskCache::directory() const {
  return impl->options.directory;
}

DiskCache::Statistics DiskCache::statistics() const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->statistics;
}

std::optional<StoredModule> DiskCache::find(const KernelKey &key) {
  const CacheFolder *folder;
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    folder = impl->folder(/*create=*/false);
  }
  std::string name = nameOf(key), contents;
  std::optional<StoredModule> found;
  auto state = CacheFolder::Read::Missing;
  if (folder)
    state = folder->read(name, contents);
  if (state == CacheFolder::Read::Ok) {
    Expected<StoredModule> stored = decodeModule(contents);
    // A file under a name that it does not hold is as bad as a damaged one.
    if (!stored)
      llvm::consumeError(stored.takeError());
    else if (llvm::is_contained(
                 llvm::map_range(stored->kernels,
                                 [](const StoredKernel &k) { return k.key; }),
                 key))
      found = std::move(*stored);
  }
  std::lock_guard<std::mutex> lock(impl->mutex);
  if (found) {
    folder->touch(name);
    ++impl->statistics.hits;
    return found;
  }
  ++impl->statistics.misses;
  if (state != CacheFolder::Read::Missing)
    impl->removeDamaged(*folder, name);
  return std::nullopt;
}

void DiskCache::insert(const StoredModule &stored) {
  std::string contents = encodeModule(stored);
  std::vector<std::string> names;
  for (const StoredKernel &kernel : stored.kernels)
    names.push_back(nameOf(kernel.key));
  const CacheFolder *folder;
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    if (impl->readOnly || contents.size() > impl->options.maxBytes)
      return;
    folder = impl->folder(/*create=*/true);
  }
  if (!folder)
    return;
  Error error = folder->write(names, contents);
  std::lock_guard<std::mutex> lock(impl->mutex);
  if (error) {
    impl->readOnly = true;
    impl->warn("cannot write: " + llvm::toString(std::move(error)) +
               "; new kernels are not kept");
    return;
  }
  ++impl->statistics.stored;
  impl->removeBeyondLimit(*folder, contents.size());
}

//===----------------------------------------------------------------------===//
// The environment
//===----------------------------------------------------------------------===//

// A set and not empty variable; none in programs with raised rights.
static std::optional<std::string> environment(const char *name) {
  const char *value = ::secure_getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

static bool isOff() {
  std::string value = environment("FUSEC_CACHE").value_or("on");
  return value == "off" || value == "0";
}

std::string DiskCache::standardDirectory() {
  if (auto own = environment("FUSEC_CACHE_DIR"))
    return *own;
  // The specification says to ignore a path that is not absolute.
  if (auto cache = environment("XDG_CACHE_HOME");
      cache && StringRef(*cache).starts_with("/"))
    return *cache + "/fusec";
  if (auto home = environment("HOME");
      home && StringRef(*home).starts_with("/"))
    return *home + "/.cache/fusec";
  return "";
}

// "512M" as bytes; empty if it is no such number.
static std::optional<uint64_t> parseSize(StringRef text) {
  unsigned shift = 0;
  switch (text.empty() ? ' ' : llvm::toUpper(text.back())) {
  case 'K':
    shift = 10;
    break;
  case 'M':
    shift = 20;
    break;
  case 'G':
    shift = 30;
    break;
  }
  uint64_t number;
  if (text.drop_back(shift ? 1 : 0).getAsInteger(10, number) ||
      number > (UINT64_MAX >> shift))
    return std::nullopt;
  return number << shift;
}

std::optional<DiskCacheOptions>
DiskCache::standardOptions(std::string &problem) {
  DiskCacheOptions options;
  options.directory = standardDirectory();
  if (isOff() || options.directory.empty())
    return std::nullopt;
  if (auto size = environment("FUSEC_CACHE_SIZE")) {
    if (std::optional<uint64_t> bytes = parseSize(*size))
      options.maxBytes = *bytes;
    else
      problem = "FUSEC_CACHE_SIZE: expected a number of bytes such as 512M; "
                "the bound is 1G";
  }
  return options;
}

std::shared_ptr<DiskCache> DiskCache::standard() {
  static const std::shared_ptr<DiskCache> cache = [] {
    std::string problem;
    std::optional<DiskCacheOptions> options = standardOptions(problem);
    if (!options)
      return std::shared_ptr<DiskCache>();
    auto made = std::make_shared<DiskCache>(*options);
    if (!problem.empty())
      made->impl->warn(problem);
    return made;
  }();
  return cache;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

// Opens for a report; empty if there is nothing yet.
static Expected<std::optional<CacheFolder>>
openForReport(const std::string &directory) {
  Expected<CacheFolder> folder = CacheFolder::open(directory, false);
  if (folder)
    return std::optional<CacheFolder>(std::move(*folder));
  Error rest = llvm::handleErrors(
      folder.takeError(), [&](std::unique_ptr<llvm::StringError> e) -> Error {
        if (e->convertToErrorCode() == std::errc::no_such_file_or_directory)
          return Error::success();
        return llvm::createStringError("kernel cache '%s': %s",
                                       directory.c_str(),
                                       e->getMessage().c_str());
      });
  if (rest)
    return std::move(rest);
  return std::optional<CacheFolder>();
}

// Whether every name of a file is one of a kernel in it.
static bool verifies(const CacheFolder &folder, const std::string &name) {
  std::string contents;
  switch (folder.read(name, contents)) {
  case CacheFolder::Read::Missing:
    return true; // gone in the meantime
  case CacheFolder::Read::Refused:
    return false;
  case CacheFolder::Read::Ok:
    break;
  }
  Expected<StoredModule> stored = decodeModule(contents);
  if (!stored) {
    llvm::consumeError(stored.takeError());
    return false;
  }
  return llvm::any_of(stored->kernels, [&](const StoredKernel &kernel) {
    return nameOf(kernel.key) == name;
  });
}

Expected<CacheReport> fusec::runtime::inspectCache(const std::string &directory,
                                                   bool verify) {
  CacheReport report;
  auto folder = openForReport(directory);
  if (!folder)
    return folder.takeError();
  if (!*folder)
    return report;
  for (const CacheFolder::File &file : (*folder)->list(kCacheSuffix)) {
    size_t good = 0;
    for (const std::string &name : file.names) {
      if (!verify || verifies(**folder, name)) {
        ++good;
        continue;
      }
      report.damaged.push_back(name);
      (*folder)->remove(name);
    }
    report.kernels += good;
    report.modules += good != 0;
    report.bytes += good ? file.bytes : 0;
  }
  return report;
}

Expected<CacheReport> fusec::runtime::clearCache(const std::string &directory) {
  CacheReport report;
  auto folder = openForReport(directory);
  if (!folder)
    return folder.takeError();
  if (!*folder)
    return report;
  for (const CacheFolder::File &file : (*folder)->list(kCacheSuffix)) {
    ++report.modules;
    report.kernels += file.names.size();
    report.bytes += file.bytes;
    for (const std::string &name : file.names)
      (*folder)->remove(name);
  }
  (*folder)->removeTemporaries();
  return report;
}
