//===- Search.cpp - the fastest of several kernels ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Tune/Search.h"
#include "fusec/Support/Closeness.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::tune;
using llvm::Error;
using llvm::Expected;

Bench::~Bench() = default;

Expected<std::vector<runtime::VendorAlgorithm>>
Bench::vendorAlgorithms(const runtime::MatrixProduct &, size_t) {
  return std::vector<runtime::VendorAlgorithm>();
}

/// A candidate that is this much slower than the best is not timed further.
static constexpr double kHopeless = 1.5;

unsigned SearchResult::timed() const {
  return llvm::count_if(candidates, [](const CandidateResult &c) {
    return c.microseconds.has_value();
  });
}

/// Where two results differ, for people; empty if they do not. NaN is NaN.
/// Floats may be as far apart as two right results if `isClose` will do.
static std::string differenceOf(const std::vector<HostTensor> &expected,
                                const std::vector<HostTensor> &found,
                                bool isClose) {
  for (auto [i, a, b] : llvm::enumerate(expected, found)) {
    int64_t count = a.elements();
    if (count != b.elements())
      return "output " + std::to_string(i) + " has another size";
    size_t bytes = size_t(count) * byteSize(a.dtype);
    if (!bytes || std::memcmp(a.data(), b.data(), bytes) == 0)
      continue;
    Closeness closeness;
    double scaled = 0;
    if (isClose && isFloat(a.dtype)) {
      closeness = closenessOf(a.dtype);
      scaled = closeness.scaled * largestFinite(a);
    }
    auto isRight = [&](double x, double y) {
      return (std::isnan(x) && std::isnan(y)) ||
             (isClose && std::isfinite(x) &&
              std::fabs(x - y) <= closeness.relative * std::fabs(x) + scaled);
    };
    for (int64_t at = 0; at < count; ++at) {
      if (a.getBits(at) == b.getBits(at) ||
          (isFloat(a.dtype) && isRight(a.getF64(at), b.getF64(at))))
        continue;
      return "output " + std::to_string(i) + ", element " + std::to_string(at) +
             ": expected " + std::to_string(a.getF64(at)) + ", found " +
             std::to_string(b.getF64(at));
    }
  }
  return "";
}

namespace {
/// One search on its way.
class Search {
public:
  Search(const Candidates &task, Bench &bench, const SearchOptions &options)
      : task(task), bench(bench), options(options),
        samples(task.candidates.size()) {
    for (const Candidate &candidate : task.candidates)
      result.candidates.push_back(
          {candidate.name, candidate.predicted, {}, "", candidate.isVendor});
  }

  Expected<SearchResult> run();

private:
  bool isOver() { return bench.now() >= options.deadline; }
  bool isIn(size_t i) const { return result.candidates[i].dropped.empty(); }
  void drop(size_t i, const std::string &why) {
    result.candidates[i].dropped = why;
  }
  Error load();
  Error judge();
  std::string compare(size_t candidate);
  std::string compareOn(Data data, size_t candidate, bool isClose = false);
  Error timeAll();
  double medianOf(size_t candidate) const;
  std::optional<std::pair<size_t, double>> best(bool withVendors = true) const;
  size_t fastest(bool vendors, size_t than) const;
  void report();

  const Candidates &task;
  Bench &bench;
  const SearchOptions &options;
  SearchResult result;
  /// What the model's choice gives, by data.
  std::optional<std::vector<HostTensor>> expected[3];
  std::vector<std::vector<double>> samples;
  unsigned rounds = 0;
};
} // namespace

Error Search::load() {
  Expected<std::vector<std::string>> failures = bench.load(task);
  if (!failures)
    return failures.takeError();
  for (auto [i, why] : llvm::enumerate(*failures))
    if (!why.empty())
      drop(i, "it failed: " + why);
  if (!isIn(0))
    return llvm::createStringError(result.candidates[0].dropped);
  return Error::success();
}

/// Why a candidate is not believed; empty if it is.
std::string Search::compare(size_t candidate) {
  const Candidate &other = task.candidates[candidate];
  if (other.order == task.candidates[0].order)
    return compareOn(Data::Random, candidate);
  if (!task.isExactOnSimpleData)
    return compareOn(Data::Random, candidate, /*isClose=*/true);
  std::string why = compareOn(Data::Simple, candidate);
  // What the vendor's epilogues make of NaN is said nowhere.
  return why.empty() && other.isVendor ? compareOn(Data::Special, candidate)
                                       : why;
}

std::string Search::compareOn(Data data, size_t candidate, bool isClose) {
  std::optional<std::vector<HostTensor>> &model = expected[size_t(data)];
  if (!model) {
    auto outputs = bench.run(0, data);
    if (!outputs)
      return "the model's choice failed: " +
             llvm::toString(outputs.takeError());
    model = std::move(*outputs);
  }
  auto outputs = bench.run(candidate, data);
  if (!outputs)
    return "it failed: " + llvm::toString(outputs.takeError());
  std::string difference = differenceOf(*model, *outputs, isClose);
  return difference.empty() ? "" : "its result is wrong: " + difference;
}

Error Search::judge() {
  for (size_t i = 1; i < task.candidates.size(); ++i) {
    if (!isIn(i))
      continue;
    if (isOver())
      drop(i, "the time was over");
    else if (std::string why = compare(i); !why.empty())
      drop(i, why);
    report();
  }
  return Error::success();
}

double Search::medianOf(size_t candidate) const {
  std::vector<double> sorted = samples[candidate];
  llvm::sort(sorted);
  return sorted[(sorted.size() - 1) / 2];
}

/// Of those that are timed and in; the first of equal ones.
std::optional<std::pair<size_t, double>> Search::best(bool withVendors) const {
  std::optional<std::pair<size_t, double>> found;
  for (size_t i = 0; i < samples.size(); ++i)
    if (isIn(i) && !samples[i].empty() &&
        (withVendors || !task.candidates[i].isVendor))
      if (double median = medianOf(i); !found || median < found->second)
        found = {i, median};
  return found;
}

void Search::report() {
  if (!options.progress)
    return;
  size_t settled = 0;
  for (size_t i = 0; i < samples.size(); ++i)
    settled += !isIn(i) || !samples[i].empty();
  options.progress(settled, rounds, best());
}

Error Search::timeAll() {
  for (; rounds < kMostRounds; ++rounds) {
    for (size_t i = 0; i < samples.size(); ++i) {
      if (isOver())
        return Error::success();
      if (!isIn(i))
        continue;
      Expected<double> time = bench.time(i);
      if (!time) {
        if (i == 0)
          return time.takeError();
        drop(i, "it failed: " + llvm::toString(time.takeError()));
        continue;
      }
      // The first round settles clocks and caches.
      if (rounds)
        samples[i].push_back(*time);
      report();
    }
    if (rounds + 1 < kFewestRounds)
      continue;
    // Those that are kept for their place in the report have a median. The
    // fastest kernel is wanted also where the vendor's library is faster.
    double bound = best()->second * kHopeless,
           ownBound = best(/*withVendors=*/false)->second * kHopeless;
    for (size_t i = 1; i < samples.size(); ++i)
      if (isIn(i) &&
          medianOf(i) > (task.candidates[i].isVendor ? bound : ownBound))
        drop(i, "it is much slower");
  }
  return Error::success();
}

/// The fastest of those that are the vendor's, or are not, if it is faster than
/// another one by more than the least gain; else that one.
size_t Search::fastest(bool vendors, size_t than) const {
  size_t winner = than;
  double bound = *result.candidates[than].microseconds * (1 - kLeastGain);
  for (auto [i, candidate] : llvm::enumerate(result.candidates))
    if (i != than && candidate.isVendor == vendors &&
        candidate.dropped.empty() && *candidate.microseconds < bound) {
      winner = i;
      bound = *candidate.microseconds;
    }
  return winner;
}

Expected<SearchResult> Search::run() {
  if (Error error = load())
    return std::move(error);
  if (Error error = judge())
    return std::move(error);
  if (Error error = timeAll())
    return std::move(error);
  size_t fewest = kFewestRounds - 1;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].size() >= fewest)
      result.candidates[i].microseconds = medianOf(i);
    else if (isIn(i))
      drop(i, "the time was over");
  }
  // A choice that nothing was compared with is not one.
  result.isMeasured =
      result.candidates[0].microseconds.has_value() && result.timed() > 1;
  if (!result.isMeasured)
    return std::move(result);
  result.own = fastest(/*vendors=*/false, 0);
  result.winner = fastest(/*vendors=*/true, result.own);
  return std::move(result);
}

Expected<SearchResult> fusec::tune::search(const Candidates &task, Bench &bench,
                                           const SearchOptions &options) {
  return Search(task, bench, options).run();
}
