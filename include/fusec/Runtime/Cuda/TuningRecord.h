//===- TuningRecord.h - measured choices on disk ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a search found stays in the folder of the kernel cache: one small file
// for each problem and machine, written whole and renamed into place, checked
// whole before anything of it is believed. Processes share the folder without
// locks; of two that tune one problem the later one's file stays.
//
// A record never makes a compilation fail: what is missing, damaged or made by
// another version is not there.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_CUDA_TUNINGRECORD_H
#define FUSEC_RUNTIME_CUDA_TUNINGRECORD_H

#include "fusec/Runtime/VendorCall.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusec::runtime {

/// What a measured choice holds for. All of it is compared.
struct TuningKey {
  /// Digest of what the kernel computes: ops, sizes, types, layouts, epilogue.
  std::string problem;
  /// The GPU: "H200", its compute capability and its multiprocessors.
  std::string machine;
  uint32_t capability = 0, multiprocessors = 0;
  /// Version of what makes kernels, device text included.
  std::string generator;
  friend bool operator==(const TuningKey &, const TuningKey &) = default;
};

/// A choice that is the vendor's library, in one version of it.
struct VendorChoice {
  VendorAlgorithm algorithm;
  /// The fastest kernel, for where that is not there or not wanted.
  std::string own;
  double ownMicroseconds = 0;
  friend bool operator==(const VendorChoice &, const VendorChoice &) = default;
};

/// One measured choice. Times in µs, median of replays.
struct TuningEntry {
  TuningKey key;
  /// For people: "F16 4096 x 1024, k 1024".
  std::string title;
  /// Names of candidates: what was fastest, and what the model had chosen.
  std::string choice, model;
  double microseconds = 0, modelMicroseconds = 0;
  /// Where the choice is the vendor's library.
  std::optional<VendorChoice> vendor = std::nullopt;
  /// Candidates that were timed.
  uint32_t timed = 0;
  /// Seconds since 1970.
  int64_t date = 0;
  friend bool operator==(const TuningEntry &, const TuningEntry &) = default;
};

/// {"problem", "machine", "capability", "multiprocessors", "generator",
/// "title", "choice", "model", "us", "model_us", "timed", "date"}, and if the
/// choice is the vendor's "vendor": {"version", "algorithm" (words in
/// hexadecimal), "workspace_bytes", "own", "own_us"}.
llvm::json::Object toJson(const TuningEntry &entry);
/// The inverse. Fails on what is missing, of another type, out of range or
/// longer than anything that is written.
llvm::Expected<TuningEntry> tuningEntry(const llvm::json::Value &value);

/// The entries of a document that has them under "entries", as `fusec cache
/// tuning --json` writes it. Fails on anything else; reads no file of more than
/// 64 MB and no deep nesting.
llvm::Expected<std::vector<TuningEntry>>
parseTuningEntries(llvm::StringRef text);

/// The bytes of a file for `entry`, and back; fails on any bit that differs.
std::string encodeTuning(const TuningEntry &entry);
llvm::Expected<TuningEntry> decodeTuning(llvm::StringRef bytes);
/// Whether `bytes` are of another version of the layout: no damage.
bool isOtherTuningLayout(llvm::StringRef bytes);

/// The record in a folder of the kernel cache. Thread-safe; several objects and
/// processes may use one folder. It keeps no file open and no state.
class TuningRecord {
public:
  explicit TuningRecord(std::string directory) : folder(std::move(directory)) {}

  /// The entry of this key; nothing if there is none that is whole.
  std::optional<TuningEntry> find(const TuningKey &key) const;
  /// Writes an entry in place of an older one; makes the folder (0700).
  llvm::Error insert(const TuningEntry &entry) const;

  struct Contents {
    /// By title, then by key.
    std::vector<TuningEntry> entries;
    /// Names of files that do not verify.
    std::vector<std::string> damaged;
  };
  /// All that is there. With `removeDamaged` what does not verify goes.
  llvm::Expected<Contents> list(bool removeDamaged = false) const;
  /// Removes all entries and says how many there were.
  llvm::Expected<size_t> clear() const;

  const std::string &directory() const { return folder; }

private:
  std::string folder;
};

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_CUDA_TUNINGRECORD_H
