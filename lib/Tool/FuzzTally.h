//===- FuzzTally.h - what fuzzing found -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_FUZZTALLY_H
#define FUSEC_LIB_TOOL_FUZZTALLY_H

#include "Report.h"
#include "fusec/Fuzz/RunCase.h"
#include <map>

namespace fusec::tool {

/// Something that a person must look at.
struct Finding {
  uint64_t seed = 0;
  /// "wrong", "failed", "crash", "hang", "memory" or "generator".
  std::string kind;
  /// The way it happened in; empty before there is one.
  std::string way;
  std::string message;
};

/// "seed 12, host, exact: wrong: output ...".
std::string toText(const Finding &finding);

/// The report of one case as JSON on one line, to cross from a child.
std::string toLine(uint64_t seed, const fuzz::CaseReport &report);

/// Counts over all cases.
class FuzzTally {
public:
  /// Adds a line of `toLine`; returns what is to be reported. Nothing if the
  /// text is no such line.
  std::optional<std::vector<Finding>> add(llvm::StringRef line);
  void add(const Finding &finding) { findings.push_back(finding); }

  int64_t cases = 0;
  std::vector<Finding> findings;

  /// For people, and {"cases", "runs", "elements", "exact", "unknown",
  /// "findings", "unsupported", "features", "kept"}.
  void print(llvm::raw_ostream &os, double seconds) const;
  llvm::json::Object toJson(double seconds) const;
  /// How often each decision of the planner and each path of lowering was
  /// reached, those never reached too.
  void printCoverage(llvm::raw_ostream &os) const;

private:
  int64_t runs = 0, elements = 0, exact = 0, unknown = 0;
  std::map<std::string, int64_t> unsupported, features;
  /// Seeds that reached something new, with how much.
  std::vector<std::pair<uint64_t, int64_t>> kept;
};

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_FUZZTALLY_H
