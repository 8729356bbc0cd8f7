//===- Tune.h - choosing by measured times ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a schedule offers candidates, a compilation takes what a tuning record
// says is fastest on the GPU that is compiled for, and the model's choice where
// the record says nothing. `tune` makes the record.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TUNE_TUNE_H
#define FUSEC_TUNE_TUNE_H

#include "fusec/Driver/Compile.h"
#include "fusec/Runtime/Cuda/TuningRecord.h"
#include "fusec/Runtime/Device.h"
#include "fusec/Tune/Search.h"

namespace fusec::tune {

/// Of what machine a record speaks.
struct Machine {
  std::string name;
  uint32_t capability = 0, multiprocessors = 0;
};

/// The machine that `target` is on `device`; without a device the GPU that
/// `target` is a preset of. The emulator is a machine of its own: its times say
/// nothing of a GPU.
Machine machineOf(const TargetInfo &target, const runtime::Device *device);

/// The key of a problem on a machine, for kernels of this version of fusec.
runtime::TuningKey keyOf(llvm::StringRef problem, const Machine &machine);

/// Answers from a record and, before it, from what was just found.
class RecordChooser final : public ScheduleChooser,
                            public driver::VendorChooser {
public:
  /// `record` null: the model chooses, and `why` says so. Without `useVendor`
  /// the fastest kernel is taken where the vendor's library was faster.
  RecordChooser(std::shared_ptr<const runtime::TuningRecord> record,
                Machine machine, std::string whyNoRecord = "no tuning record",
                bool useVendor = true)
      : record(std::move(record)), machine(std::move(machine)),
        whyNoRecord(std::move(whyNoRecord)), useVendor(useVendor) {}

  ScheduleAnswer choose(const ScheduleQuestion &question) const override;
  std::optional<runtime::VendorAlgorithm>
  algorithmFor(const std::string &problem) const override;

  /// Takes `entry` for its problem from now on. Not while others choose.
  void add(runtime::TuningEntry entry);

private:
  /// What is known of a problem; "tuned now" or "tuning record".
  std::optional<runtime::TuningEntry> find(const std::string &problem,
                                           llvm::StringRef &source) const;

  std::shared_ptr<const runtime::TuningRecord> record;
  Machine machine;
  std::string whyNoRecord;
  bool useVendor;
  std::map<std::string, runtime::TuningEntry> found;
};

/// What a search is at.
struct TuneProgress {
  /// Kernels with candidates, and the one that is searched for.
  size_t kernel = 0, numKernels = 0;
  llvm::StringRef title;
  /// Its candidates, and those timed or dropped.
  size_t candidates = 0, settled = 0;
  /// The fastest median so far, µs, and whose it is.
  std::optional<double> bestMicroseconds = std::nullopt;
  llvm::StringRef best = "";
};

struct TuneOptions {
  /// The most that the search may take; what has begun is finished.
  double seconds = 30;
  /// Whether the vendor's library competes.
  bool vendor = true;
  std::function<void(const TuneProgress &)> progress = {};
};

/// What became of one kernel with candidates.
struct TunedKernel {
  std::string problem, title;
  unsigned launches = 1;
  SearchResult result;
  /// Why there is no result, if there is none.
  std::string failure;
  /// Why the vendor's library did not compete for a product that it could be
  /// asked for; empty if it did, or was not to.
  std::string noVendor = "";
};

struct TuneReport {
  std::vector<TunedKernel> kernels;
  double seconds = 0;
  /// Why what was found is not on disk, if it should be and is not.
  std::string notKept;
  /// Sum over launches of what the model's choices took, and of what the
  /// winners take, µs, where both were timed; of the regions that the model
  /// cuts the graph into.
  double modelMicroseconds = 0, microseconds = 0;
};

/// Compiles copies of `module` (one function of graph ops, not simplified) with
/// each candidate of each kernel, times them on `bench`, tells `chooser` what
/// won, and writes it to `record` if that is not null. Kernels that take
/// longest come first; where the graph can be cut into kernels in several ways,
/// they come last, as whole programs. `options.chooser` is not asked. The
/// module's context is used by this thread alone meanwhile. Fails as
/// `driver::compile` does.
llvm::Expected<TuneReport>
tune(mlir::ModuleOp module, const driver::CompileOptions &options, Bench &bench,
     RecordChooser &chooser, const Machine &machine,
     const runtime::TuningRecord *record, const TuneOptions &tuneOptions);

/// {"seconds", "model_us", "us", "not_kept", "kernels": [{"title", "problem",
/// "launches", "choice", "failure", "no_vendor", "candidates": [{"name", "us",
/// "predicted_us", "dropped", "vendor"}]}]}.
llvm::json::Object toJson(const TuneReport &report);
/// For people: a line for each kernel and for each candidate that was wrong.
std::string toText(const TuneReport &report);

} // namespace fusec::tune

#endif // FUSEC_TUNE_TUNE_H
