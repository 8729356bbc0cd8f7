//===- Tool.h - the mains of the tools --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TOOL_TOOL_H
#define FUSEC_TOOL_TOOL_H

#include "mlir/IR/DialectRegistry.h"

namespace fusec::tool {

/// Runs the command line of `fusec` and returns the exit code
/// (lib/Tool/ToolError.h). Writes to stdout and stderr.
int fusecMain(int argc, char **argv);

/// Runs the command line of `fusec-opt`: all dialects and passes of fusec and
/// those in `registry`.
int optMain(int argc, char **argv, mlir::DialectRegistry &registry);

/// Runs `fusec-lsp-server`: the Language Server Protocol on stdin and stdout
/// for MLIR text with fusec's dialects.
int lspMain(int argc, char **argv);

} // namespace fusec::tool

#endif // FUSEC_TOOL_TOOL_H
