//===- ReduceCheck.h - what a reduced graph must still do -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_REDUCECHECK_H
#define FUSEC_LIB_TOOL_REDUCECHECK_H

#include "ToolError.h"

namespace fusec::tool {

/// "wrong", "failed", "crash", "hang", "slow": the checks that are no commands.
llvm::ArrayRef<llvm::StringRef> checkKinds();

/// True if `check` is a command of a shell.
bool isCheckCommand(llvm::StringRef check);

/// Fails if `check` is one word that is neither a kind nor a program that can
/// be run: such a command would say of every graph that it is right.
llvm::Error validateCheck(llvm::StringRef check);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_REDUCECHECK_H
