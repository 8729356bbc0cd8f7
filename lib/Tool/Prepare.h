//===- Prepare.h - a model with inputs on a target --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_PREPARE_H
#define FUSEC_LIB_TOOL_PREPARE_H

#include "Report.h"

namespace fusec::tool {

/// What `run` and `bench` do first.
struct Prepared {
  std::unique_ptr<ModelFile> file;
  Bindings bindings;
  std::unique_ptr<Session> session;
  std::vector<HostTensor> inputs;
};

/// Reads model and inputs, opens the target and compiles.
llvm::Expected<Prepared> prepare(const Arguments &arguments);

/// Target, device and what fusion changed.
llvm::json::Object headOf(const Session &session);

llvm::json::Object toJson(const Times &times);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_PREPARE_H
