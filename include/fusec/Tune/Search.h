//===- Search.h - the fastest of several kernels ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model ranks the ways to build a kernel; a search times the best of them
// within a budget and believes none that computes something else. It knows of
// kernels what a task says, and of devices and clocks what a bench does, so
// that a test can be both.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TUNE_SEARCH_H
#define FUSEC_TUNE_SEARCH_H

#include "fusec/Runtime/Program.h"
#include "fusec/Support/HostTensor.h"

#include <optional>

namespace fusec::tune {

/// One way to compute what a task computes.
struct Candidate {
  std::string name;
  /// Candidates of one order are equal bit for bit on any data.
  std::string order;
  /// The model's estimate, µs.
  double predicted = 0;
  /// One launch; inputs and outputs as the task has them.
  runtime::Program program;
  /// The vendor's library computes it; no kernel of fusec.
  bool isVendor = false;
};

/// A kernel that could be built in several ways.
struct Candidates {
  /// Of ScheduleQuestion.
  std::string problem, title;
  /// At least one; the model's choice first, those of the vendor last.
  std::vector<Candidate> candidates;
  /// Candidates of different orders are equal on simple data
  /// (fusec/Analysis/ExactSums.h); else they are close on random data
  /// (fusec/Support/Closeness.h).
  bool isExactOnSimpleData = false;
  /// Launches of it in the program.
  unsigned launches = 1;
};

/// What inputs hold: any numbers of their type; few and simple ones; or these
/// with a NaN and infinities among the floats.
enum class Data : uint8_t { Random, Simple, Special };

/// Runs and times the candidates of one task at a time. Not thread-safe.
class Bench {
public:
  virtual ~Bench();
  /// Compiles and loads all candidates of a task, in place of the last task's.
  /// One result for each: what failed with it. Fails where nothing can run.
  virtual llvm::Expected<std::vector<std::string>>
  load(const Candidates &task) = 0;
  /// The outputs of one run. Elements that a run does not write differ between
  /// candidate 0 and the others.
  virtual llvm::Expected<std::vector<HostTensor>> run(size_t candidate,
                                                      Data data) = 0;
  /// Microseconds of a launch on random data.
  virtual llvm::Expected<double> time(size_t candidate) = 0;
  /// Seconds since some moment; never less than before.
  virtual double now() = 0;
  /// See Device; the default has none.
  virtual llvm::Expected<std::vector<runtime::VendorAlgorithm>>
  vendorAlgorithms(const runtime::MatrixProduct &product, size_t most);
};

/// What became of one candidate.
struct CandidateResult {
  std::string name;
  double predicted = 0;
  /// Median, where it was timed.
  std::optional<double> microseconds;
  /// Why it is out, if it is: it failed, was wrong, or the time was over.
  std::string dropped;
  bool isVendor = false;
};

struct SearchResult {
  /// Position of what is used from now on.
  size_t winner = 0;
  /// The fastest kernel of fusec, `winner` unless that is the vendor's.
  size_t own = 0;
  /// Parallel to those of the task.
  std::vector<CandidateResult> candidates;
  /// The model's choice and another one were timed often enough to compare.
  bool isMeasured = false;
  /// How many were timed.
  unsigned timed() const;
};

struct SearchOptions {
  /// When, by the bench's clock, to stop. What has begun is finished.
  double deadline = 0;
  /// Told after each step: candidates timed or dropped, rounds done, and the
  /// best median so far with its candidate.
  std::function<void(size_t settled, unsigned rounds,
                     std::optional<std::pair<size_t, double>> best)>
      progress = {};
};

/// Rounds in which each candidate is timed once; the first is not counted.
inline constexpr unsigned kMostRounds = 12, kFewestRounds = 4;
/// Another candidate than the model's must be this much faster than that, and
/// the vendor's library than the fastest kernel.
inline constexpr double kLeastGain = 0.02;

/// Finds the fastest candidate whose results are those of the model's choice.
/// Candidates take turns, so that a change of clocks meets all of them; ties go
/// to the model, then to its order. Deterministic for a deterministic bench.
/// Fails only if the model's own choice does not run.
llvm::Expected<SearchResult> search(const Candidates &task, Bench &bench,
                                    const SearchOptions &options);

} // namespace fusec::tune

#endif // FUSEC_TUNE_SEARCH_H
