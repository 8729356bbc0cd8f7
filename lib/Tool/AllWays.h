//===- AllWays.h - fusec verify --all-ways ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_ALLWAYS_H
#define FUSEC_LIB_TOOL_ALLWAYS_H

#include "Arguments.h"

namespace fusec::tool {

/// Computes one graph in every way that the machine has and judges each by the
/// bounds of the graph. Each way runs in a child process.
llvm::Expected<ExitCode> verifyAllWays(const Arguments &arguments);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_ALLWAYS_H
