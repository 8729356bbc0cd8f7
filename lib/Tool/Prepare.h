//===- Prepare.h - a model with inputs on a target --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_PREPARE_H
#define FUSEC_LIB_TOOL_PREPARE_H

#include "Report.h"
#include "fusec/Tune/Tune.h"

namespace fusec::tool {

/// A graph and what it is run on.
struct Subject {
  /// The file, from which the graph can be loaded again with `bindings`.
  std::unique_ptr<ModelFile> file;
  Bindings bindings;
  Model model;
  std::vector<HostTensor> inputs;
};

/// Reads the graph that the first positional argument names, and its inputs
/// (--shape, --dim, --input, --inputs, --seed).
llvm::Expected<Subject> readSubject(const Arguments &arguments);

/// What `run` and `bench` do first.
struct Prepared {
  std::unique_ptr<ModelFile> file;
  Bindings bindings;
  std::unique_ptr<Session> session;
  std::vector<HostTensor> inputs;
  /// With --tune: what was found.
  std::optional<tune::TuneReport> tuned = std::nullopt;
};

/// Reads model and inputs, opens the target and compiles.
llvm::Expected<Prepared> prepare(const Arguments &arguments);

/// Target, device, what fusion changed and what tuning found.
llvm::json::Object headOf(const Prepared &prepared);

llvm::json::Object toJson(const Times &times);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_PREPARE_H
