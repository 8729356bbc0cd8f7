//===- Progress.h - one line on a terminal ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_PROGRESS_H
#define FUSEC_LIB_TOOL_PROGRESS_H

#include "Arguments.h"
#include <chrono>

namespace fusec::tool {

/// Says on one line of stderr, written over and over, what long work is at.
/// Writes nothing where stderr is no terminal or --quiet is given. Not
/// thread-safe.
class Progress {
public:
  explicit Progress(const Arguments &arguments);
  Progress(const Progress &) = delete;
  ~Progress() { clear(); }

  /// Shows `text`, at most ten times a second; the first and those after a
  /// pause appear at once.
  void show(const llvm::Twine &text);
  /// Empties the line, for other output.
  void clear();

private:
  bool active;
  bool dirty = false;
  std::chrono::steady_clock::time_point last = {};
};

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_PROGRESS_H
