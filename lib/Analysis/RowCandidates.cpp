//===- RowCandidates.cpp - other ways to cut a row region -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model's rules with one number changed at a time, so that whatever is
// legal for its choice is for the others.
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/RowTiling.h"

using namespace fusec;
using namespace fusec::analysis;

/// Those that were worth trying: twice and half of each, the most likely first.
static constexpr RowLeaning kLeanings[] = {
    {.threads = 1}, {.threads = -1}, {.rows = 1},    {.rows = -1},
    {.blocks = 1},  {.blocks = -1},  {.vector = -1}, {.runs = -1},
};

std::vector<RowTiling> analysis::rowCandidates(const RegionForm &form,
                                               const AccessFacts &access,
                                               const TargetInfo &target,
                                               const TilingOptions &options) {
  std::vector<RowTiling> result = {tileRows(form, access, target, options)};
  for (const RowLeaning &leaning : kLeanings) {
    TilingOptions other = options;
    other.leaning = leaning;
    RowTiling tiling = tileRows(form, access, target, other);
    if (llvm::none_of(result, [&](const RowTiling &known) {
          return nameOf(known) == nameOf(tiling);
        }))
      result.push_back(std::move(tiling));
  }
  return result;
}

std::string analysis::nameOf(const RowTiling &tiling) {
  std::string text = "threads " + std::to_string(tiling.threads());
  auto add = [&](const char *what, int64_t count, int64_t usual = 1) {
    if (count != usual)
      text += std::string(", ") + what + " " + std::to_string(count);
  };
  add("vector", tiling.vector);
  add("lanes", tiling.lanes, 32);
  add("warps a row", tiling.columnWarps);
  add("repeats", tiling.repeats);
  add("rows a thread", tiling.rowRepeats);
  add("unroll", tiling.unroll);
  add("parts", tiling.splits);
  add("columns a part", tiling.splits > 1 ? tiling.columnsPerSplit : 0, 0);
  add("stages", tiling.stages, 0);
  add("blocks a cluster", tiling.cluster);
  add("bytes kept", tiling.keptBytes, 0);
  add("ends of", tiling.edges, 0);
  add("skewed by", tiling.skew, 0);
  if (tiling.across)
    text += ", across rows";
  if (tiling.onePass)
    text += ", one pass";
  if (tiling.inTurn)
    text += ", in turn";
  if (tiling.isRun)
    text += ", one run";
  if (tiling.meeting) {
    add("shares of", tiling.meeting->share);
    add("rows a block", tiling.meeting->ownRows);
  }
  if (tiling.turn) {
    add("turned", tiling.turn->along);
    add("beside", tiling.turn->besideRows);
  }
  return text;
}
