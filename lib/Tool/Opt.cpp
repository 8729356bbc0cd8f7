//===- Opt.cpp - the main of fusec-opt ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "fusec/Dialect/Simt/Transforms/Passes.h"
#include "fusec/Dialect/Tile/Transforms/Passes.h"
#include "fusec/Driver/Compile.h"
#include "fusec/Fusion/Passes.h"
#include "fusec/Reference/Passes.h"
#include "fusec/Tool/Tool.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int fusec::tool::optMain(int argc, char **argv,
                         mlir::DialectRegistry &registry) {
  driver::registerDialects(registry);
  graph::registerGraphPasses();
  simt::registerSimtPasses();
  tile::registerTilePasses();
  fusion::registerFusionPasses();
  reference::registerReferencePasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "fusec pass driver\n", registry));
}
