//===- Report.cpp - what a search found -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Tune/Tune.h"
#include "llvm/Support/Format.h"

using namespace fusec;
using namespace fusec::tune;
using llvm::json::Array;
using llvm::json::Object;

static Object toJson(const CandidateResult &candidate) {
  Object object{{"name", candidate.name},
                {"predicted_us", candidate.predicted}};
  if (candidate.microseconds)
    object["us"] = *candidate.microseconds;
  if (!candidate.dropped.empty())
    object["dropped"] = llvm::json::fixUTF8(candidate.dropped);
  if (candidate.isVendor)
    object["vendor"] = true;
  return object;
}

Object fusec::tune::toJson(const TuneReport &report) {
  Array kernels;
  for (const TunedKernel &kernel : report.kernels) {
    Object object{{"title", kernel.title},
                  {"problem", kernel.problem},
                  {"launches", int64_t(kernel.launches)}};
    Array candidates;
    for (const CandidateResult &candidate : kernel.result.candidates)
      candidates.push_back(::toJson(candidate));
    if (kernel.result.isMeasured)
      object["choice"] = kernel.result.candidates[kernel.result.winner].name;
    if (!kernel.failure.empty())
      object["failure"] = llvm::json::fixUTF8(kernel.failure);
    if (!kernel.noVendor.empty())
      object["no_vendor"] = llvm::json::fixUTF8(kernel.noVendor);
    object["candidates"] = std::move(candidates);
    kernels.push_back(std::move(object));
  }
  Object object{{"seconds", report.seconds},
                {"model_us", report.modelMicroseconds},
                {"us", report.microseconds},
                {"kernels", std::move(kernels)}};
  if (!report.notKept.empty())
    object["not_kept"] = llvm::json::fixUTF8(report.notKept);
  return object;
}

/// What was found for one kernel, without its title.
static std::string outcomeOf(const TunedKernel &kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const SearchResult &result = kernel.result;
  if (!kernel.failure.empty()) {
    os << "not tuned: " << kernel.failure;
  } else if (!result.isMeasured) {
    os << "not tuned: no two candidates could be compared";
  } else {
    const CandidateResult &winner = result.candidates[result.winner];
    os << llvm::format("%.2f us", *winner.microseconds);
    if (winner.isVendor)
      os << llvm::format(" against %.2f of the fastest kernel",
                         *result.candidates[result.own].microseconds)
         << ", " << winner.name;
    else if (result.winner)
      os << llvm::format(" against %.2f", *result.candidates[0].microseconds)
         << ", " << winner.name;
    else
      os << ", the model's choice";
    os << "; " << result.timed() << " of " << result.candidates.size()
       << " candidates timed";
  }
  return text;
}

std::string fusec::tune::toText(const TuneReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "tuned:    " << report.kernels.size() << " kernels with candidates in "
     << llvm::format("%.1f s", report.seconds);
  if (report.modelMicroseconds > 0)
    os << llvm::format(", %.2f us instead of %.2f", report.microseconds,
                       report.modelMicroseconds);
  os << '\n';
  for (const TunedKernel &kernel : report.kernels) {
    os << "  " << kernel.title;
    if (kernel.launches > 1)
      os << " (" << kernel.launches << " launches)";
    os << ": " << outcomeOf(kernel) << '\n';
    for (const CandidateResult &candidate : kernel.result.candidates)
      if (!candidate.dropped.empty() && !candidate.microseconds)
        os << "    " << candidate.name << " was dropped: " << candidate.dropped
           << '\n';
  }
  auto without = llvm::find_if(report.kernels, [](const TunedKernel &kernel) {
    return !kernel.noVendor.empty();
  });
  if (without != report.kernels.end())
    os << "  the vendor's library did not compete: " << without->noVendor
       << '\n';
  if (!report.notKept.empty())
    os << "  not kept for later: " << report.notKept << '\n';
  return text;
}
