//===- BugCase.h - a bug report as a few lines of text ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the cases of test/bugs, whose README has the format, and makes an ONNX
// file of each.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_BUGS_BUGCASE_H
#define FUSEC_TEST_UNIT_BUGS_BUGCASE_H

#include "fusec/Support/HostTensor.h"

#include <map>
#include <string>
#include <vector>

namespace fusec::bugs {

/// What an output must be.
struct Expectation {
  std::string name;
  /// Nothing: what the reference evaluator finds.
  std::optional<HostTensor> value;
};

/// One case with all its placeholders filled in.
struct BugCase {
  /// "A1", and the values of its placeholders ("f16 33").
  std::string id, variant;
  /// The ModelProto, and the same with every value of the graph an output.
  std::string bytes, exposedBytes;
  /// Run-time inputs in the order of the graph.
  std::vector<std::pair<std::string, HostTensor>> inputs;
  std::vector<Expectation> outputs;
  /// |difference| <= relative * |expected| + absolute for floats.
  double relative = 0, absolute = 0;
  /// A part of the error with which the graph must be refused; empty: it works.
  std::string refusal;
  /// Kernels of the fused program on a GPU.
  std::optional<size_t> kernels;
  /// The first variant of its entry; others are run in fewer ways.
  bool first = false;
  /// Run in the emulator; with constants for inputs; with all values exposed.
  bool emulator = true, fold = true, expose = true;
};

/// Reads `text`, several entries that start with "== ID what goes wrong". The
/// result has the variants of each ID in order. An error names the line.
llvm::Expected<std::map<std::string, std::vector<BugCase>>>
parseBugs(llvm::StringRef text);

} // namespace fusec::bugs

#endif // FUSEC_TEST_UNIT_BUGS_BUGCASE_H
