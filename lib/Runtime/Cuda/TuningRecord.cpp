//===- TuningRecord.cpp - measured choices on disk ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/TuningRecord.h"
#include "CacheFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <tuple>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr llvm::StringLiteral kSuffix = ".tuning";

/// The name of the file for `key`: each text goes in with its length, so that
/// no two keys are one.
static std::string nameOf(const TuningKey &key) {
  llvm::SHA256 hash;
  auto number = [&](uint64_t value) {
    uint8_t bytes[8];
    llvm::support::endian::write64le(bytes, value);
    hash.update(llvm::ArrayRef(bytes));
  };
  for (StringRef text : {StringRef(key.problem), StringRef(key.machine),
                         StringRef(key.generator)}) {
    number(text.size());
    hash.update(text);
  }
  number(key.capability);
  number(key.multiprocessors);
  return llvm::toHex(llvm::ArrayRef(hash.final()), /*LowerCase=*/true) +
         kSuffix.str();
}

/// Empty if the folder is not there.
static Expected<std::optional<CacheFolder>>
openIfThere(const std::string &directory) {
  Expected<CacheFolder> folder = CacheFolder::open(directory, false);
  if (folder)
    return std::optional<CacheFolder>(std::move(*folder));
  std::string why;
  bool isMissing = false;
  llvm::handleAllErrors(folder.takeError(), [&](const llvm::StringError &e) {
    isMissing = e.convertToErrorCode() == std::errc::no_such_file_or_directory;
    why = e.getMessage();
  });
  if (isMissing)
    return std::optional<CacheFolder>();
  return llvm::createStringError("tuning record '" + directory + "': " + why);
}

/// The entry in a file, if the file is whole and has the name of its key.
/// `isThere` says whether there is a file of this version of the layout.
static std::optional<TuningEntry>
readEntry(const CacheFolder &folder, const std::string &name, bool &isThere) {
  std::string contents;
  CacheFolder::Read state = folder.read(name, contents);
  isThere =
      state != CacheFolder::Read::Missing && !isOtherTuningLayout(contents);
  if (state != CacheFolder::Read::Ok)
    return std::nullopt;
  Expected<TuningEntry> entry = decodeTuning(contents);
  if (!entry) {
    llvm::consumeError(entry.takeError());
    return std::nullopt;
  }
  if (nameOf(entry->key) != name)
    return std::nullopt;
  return std::move(*entry);
}

std::optional<TuningEntry> TuningRecord::find(const TuningKey &key) const {
  Expected<std::optional<CacheFolder>> opened = openIfThere(folder);
  if (!opened) {
    llvm::consumeError(opened.takeError());
    return std::nullopt;
  }
  bool isThere;
  return *opened ? readEntry(**opened, nameOf(key), isThere) : std::nullopt;
}

/// Writes what can be read again.
static Error write(const std::string &folder, const TuningEntry &entry) {
  std::string bytes = encodeTuning(entry);
  if (Expected<TuningEntry> read = decodeTuning(bytes); !read)
    return read.takeError();
  Expected<CacheFolder> opened = CacheFolder::open(folder, /*create=*/true);
  return opened ? opened->write({nameOf(entry.key)}, bytes)
                : opened.takeError();
}

Error TuningRecord::insert(const TuningEntry &entry) const {
  Error error = write(folder, entry);
  if (!error)
    return Error::success();
  return llvm::createStringError("tuning record '" + folder +
                                 "': " + llvm::toString(std::move(error)));
}

Expected<TuningRecord::Contents> TuningRecord::list(bool removeDamaged) const {
  Contents contents;
  Expected<std::optional<CacheFolder>> opened = openIfThere(folder);
  if (!opened)
    return opened.takeError();
  if (!*opened)
    return contents;
  for (const CacheFolder::File &file : (*opened)->list(kSuffix))
    for (const std::string &name : file.names) {
      bool isThere;
      if (auto entry = readEntry(**opened, name, isThere))
        contents.entries.push_back(std::move(*entry));
      else if (!isThere)
        continue; // removed in the meantime
      else
        contents.damaged.push_back(name);
    }
  llvm::sort(contents.damaged);
  // Not what another process has written in its place since.
  bool isThere;
  for (const std::string &name : contents.damaged)
    if (removeDamaged && !readEntry(**opened, name, isThere))
      (*opened)->remove(name);
  llvm::sort(contents.entries, [](const TuningEntry &a, const TuningEntry &b) {
    auto order = [](const TuningEntry &e) {
      return std::tie(e.title, e.key.machine, e.key.multiprocessors,
                      e.key.problem, e.key.generator, e.key.capability);
    };
    return order(a) < order(b);
  });
  return contents;
}

Expected<size_t> TuningRecord::clear() const {
  Expected<std::optional<CacheFolder>> opened = openIfThere(folder);
  if (!opened)
    return opened.takeError();
  size_t count = 0;
  if (*opened)
    for (const CacheFolder::File &file : (*opened)->list(kSuffix))
      for (const std::string &name : file.names) {
        (*opened)->remove(name);
        ++count;
      }
  return count;
}
