//===- RecordChooser.cpp - choices from a record --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Embedded/PreludeSm90.h"
#include "fusec/Tune/Tune.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SHA256.h"

using namespace fusec;
using namespace fusec::tune;

Machine tune::machineOf(const TargetInfo &target,
                        const runtime::Device *device) {
  Machine machine{"", target.computeCapability, target.multiprocessors};
  llvm::StringRef name =
      device ? llvm::StringRef(device->info().name) : target.name;
  if (!device)
    name = name.rsplit(' ').second;
  name.consume_front("NVIDIA ");
  machine.name = name.str();
  return machine;
}

/// The version, and a digest of the device text that kernels build on: another
/// text may have other times.
static const std::string &generator() {
  static const std::string text = [] {
    llvm::SHA256 hash;
    for (llvm::StringRef part : {llvm::StringRef(embedded::kPreludeCuda),
                                 llvm::StringRef(embedded::kPreludeSm90),
                                 llvm::StringRef(embedded::kGemmSkeleton)})
      hash.update(part);
    return "fusec " FUSEC_VERSION " " +
           llvm::toHex(llvm::ArrayRef(hash.final()), /*LowerCase=*/true)
               .substr(0, 16);
  }();
  return text;
}

runtime::TuningKey tune::keyOf(llvm::StringRef problem,
                               const Machine &machine) {
  return {problem.str(), machine.name, machine.capability,
          machine.multiprocessors, generator()};
}

void RecordChooser::add(runtime::TuningEntry entry) {
  std::string problem = entry.key.problem;
  found.insert_or_assign(std::move(problem), std::move(entry));
}

/// "44.10 us against 48.00 of the model's choice".
static std::string timesOf(const runtime::TuningEntry &entry, bool useVendor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (entry.vendor && !useVendor) {
    os << llvm::format("%.2f us, the fastest kernel; ",
                       entry.vendor->ownMicroseconds)
       << entry.choice << llvm::format(" took %.2f", entry.microseconds);
    return text;
  }
  os << llvm::format("%.2f us", entry.microseconds);
  if (entry.vendor && entry.vendor->own != entry.model)
    os << llvm::format(" against %.2f of the fastest kernel and %.2f of the "
                       "model's choice",
                       entry.vendor->ownMicroseconds, entry.modelMicroseconds);
  else if (entry.choice != entry.model)
    os << llvm::format(" against %.2f of the model's choice",
                       entry.modelMicroseconds);
  else
    os << ", the model's choice, fastest of " << entry.timed;
  return text;
}

std::optional<runtime::TuningEntry>
RecordChooser::find(const std::string &problem, llvm::StringRef &source) const {
  source = "tuned now: ";
  if (auto it = found.find(problem); it != found.end())
    return it->second;
  source = "tuning record: ";
  return record ? record->find(keyOf(problem, machine)) : std::nullopt;
}

std::optional<runtime::VendorAlgorithm>
RecordChooser::algorithmFor(const std::string &problem) const {
  llvm::StringRef source;
  std::optional<runtime::TuningEntry> entry;
  if (useVendor)
    entry = find(problem, source);
  if (!entry || !entry->vendor)
    return std::nullopt;
  return entry->vendor->algorithm;
}

ScheduleAnswer RecordChooser::choose(const ScheduleQuestion &question) const {
  llvm::StringRef source;
  std::optional<runtime::TuningEntry> entry = find(question.problem, source);
  if (!entry)
    return {0,
            "the model's choice; " +
                (record ? "the tuning record has nothing for this kernel on " +
                              machine.name
                        : whyNoRecord)};
  for (auto [i, candidate] : llvm::enumerate(question.candidates))
    if (candidate.name == (entry->vendor ? entry->vendor->own : entry->choice))
      return {i, source.str() + timesOf(*entry, useVendor)};
  return {0, "the model's choice; the tuning record names one that is no "
             "candidate here"};
}
