//===- Commands.h - the subcommands of fusec --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_COMMANDS_H
#define FUSEC_LIB_TOOL_COMMANDS_H

#include "Arguments.h"

namespace fusec::tool {

CommandSpec benchCommand();
CommandSpec cacheCommand();
CommandSpec compileCommand();
CommandSpec completionCommand();
CommandSpec devicesCommand();
CommandSpec explainCommand();
CommandSpec fuzzCommand();
CommandSpec infoCommand();
CommandSpec reduceCommand();
CommandSpec runCommand();
CommandSpec verifyCommand();

/// All of them, in the order of help.
std::vector<CommandSpec> allCommands();

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_COMMANDS_H
