//===- fusec-lsp-server.cpp - fusec's dialects in an editor ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Tool/Tool.h"

int main(int argc, char **argv) { return fusec::tool::lspMain(argc, argv); }
