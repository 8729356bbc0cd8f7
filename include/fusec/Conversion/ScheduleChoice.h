//===- ScheduleChoice.h - choices that somebody else may make ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule that could be built in several ways, all of them right, says so:
// it offers candidates, its model's choice first, and builds the one that a
// chooser picks. What picks may know what a model cannot: a record of measured
// times, or a search that wants each candidate once.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_CONVERSION_SCHEDULECHOICE_H
#define FUSEC_CONVERSION_SCHEDULECHOICE_H

#include <string>
#include <vector>

namespace fusec {

/// One way to build a region.
struct ScheduleCandidate {
  /// Unique among the candidates of a question; stable, for records.
  std::string name;
  /// The model's estimate; only differences mean anything.
  double microseconds = 0;
  /// Candidates of one order add terms alike: their results are equal bit for
  /// bit on any data.
  std::string order;
};

/// What is asked for one region, or for the regions of a graph.
struct ScheduleQuestion {
  /// Digest of what the region computes, sizes and types included. Set by who
  /// knows it; a schedule leaves it empty.
  std::string problem;
  /// For people: "F16 4096 x 1024, k 1024".
  std::string title;
  /// At least one; the model's choice first.
  std::vector<ScheduleCandidate> candidates;
  /// See `analysis::isExactOnSimpleData`: there candidates of different orders
  /// must be equal, too; elsewhere they must be close. Set by who sets
  /// `problem`.
  bool isExactOnSimpleData = false;
  /// How a graph is cut into regions, each of which may have questions of its
  /// own.
  bool isPlan = false;
};

struct ScheduleAnswer {
  /// Position among the candidates.
  size_t candidate = 0;
  /// For people: who chose, and why.
  std::string why;
};

/// Answers questions. Thread-safe.
class ScheduleChooser {
public:
  virtual ~ScheduleChooser() = default;
  /// A position beyond the candidates is taken for 0.
  virtual ScheduleAnswer choose(const ScheduleQuestion &question) const = 0;
};

} // namespace fusec

#endif // FUSEC_CONVERSION_SCHEDULECHOICE_H
