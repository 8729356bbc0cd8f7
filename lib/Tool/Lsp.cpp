//===- Lsp.cpp - the main of fusec-lsp-server -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "fusec/Tool/Tool.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int fusec::tool::lspMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
