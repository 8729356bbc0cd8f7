//===- fusec.cpp - the command line tool ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built on static MLIR it is all tools in one program, which is a third of
// their size: links named after the others make it one of them.
//===----------------------------------------------------------------------===//
#include "fusec/Tool/Tool.h"

#ifdef FUSEC_ALL_TOOLS
#include "llvm/Support/Path.h"

static int mainOf(llvm::StringRef name, int argc, char **argv) {
  if (name == "fusec-opt") {
    mlir::DialectRegistry registry;
    return fusec::tool::optMain(argc, argv, registry);
  }
  if (name == "fusec-lsp-server")
    return fusec::tool::lspMain(argc, argv);
  return fusec::tool::fusecMain(argc, argv);
}

int main(int argc, char **argv) {
  return mainOf(argc ? llvm::sys::path::stem(argv[0]) : "", argc, argv);
}
#else
int main(int argc, char **argv) { return fusec::tool::fusecMain(argc, argv); }
#endif
