//===- ReduceCheck.cpp - what a reduced graph must still do ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ReduceCheck.h"
#include "Arguments.h"
#include "ShellWord.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace fusec;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

static constexpr StringRef kKinds[] = {"wrong", "failed", "crash", "hang",
                                       "slow"};

llvm::ArrayRef<StringRef> tool::checkKinds() { return kKinds; }

bool tool::isCheckCommand(StringRef check) {
  return !llvm::is_contained(kKinds, check);
}

llvm::Error tool::validateCheck(StringRef check) {
  // What has blanks or special characters is for the shell to understand.
  if (!isCheckCommand(check) || !isPlainWord(check))
    return llvm::Error::success();
  bool isPath = check.contains('/');
  if (isPath ? fs::can_execute(check)
             : static_cast<bool>(llvm::sys::findProgramByName(check)))
    return llvm::Error::success();
  std::string remedy = "a command may have arguments and gets the path of "
                       "graph.mlir";
  if (auto kind = nearest(check, kKinds))
    remedy = ("did you mean --check=" + *kind + "?").str();
  else if (!isPath && fs::can_execute(check))
    remedy = ("did you mean --check=./" + check + "?").str();
  llvm::SmallVector<StringRef> expected(checkKinds());
  expected.push_back("a command");
  return toolError(ExitCode::Usage,
                   "--check: expected " + listOf(expected) + ", found " +
                       quoted(check) + ", which is no program" +
                       (isPath ? "" : " in PATH"),
                   remedy);
}
