//===- FuzzWork.h - what children of fusec fuzz do --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child writes "way NAME" before each way and one JSON object per seed
// (FuzzTally.h), and at its end one of two lines that say why it ends early.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_FUZZWORK_H
#define FUSEC_LIB_TOOL_FUZZWORK_H

#include "Arguments.h"
#include "Target.h"

namespace fusec::tool {

struct FuzzSettings {
  uint64_t seed = 0, end = 0;
  /// Of the whole, of a way; 0 for no limit.
  double seconds = 0, limit = 0;
  /// 0 megabytes for no limit.
  int64_t jobs = 1, megabytes = 0, perChild = 1;
  std::string out;
  llvm::SmallVector<TargetKind> targets;
};

/// The child leaves its other seeds to another one: a kernel failed, after
/// which CUDA refuses everything in that process.
inline constexpr llvm::StringLiteral kRestLine = "rest";
/// The seed that the child is at wants more memory than it may have.
inline constexpr llvm::StringLiteral kStarvedLine = "starved";

/// In a child: runs seeds [first, end).
void runSeeds(const FuzzSettings &settings, uint64_t first, uint64_t end,
              llvm::raw_ostream &os);

/// Opens the targets in a child, so that a missing one is an error and not a
/// finding of every seed. Another code than Ok has been reported.
llvm::Expected<ExitCode> checkTargets(const FuzzSettings &settings);

/// Fails where --memory or --timeout of `arguments` are too small for the
/// smallest graph, so that they are no findings of every seed.
llvm::Error checkLimits(const FuzzSettings &settings,
                        const Arguments &arguments);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_FUZZWORK_H
