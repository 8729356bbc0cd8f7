//===- fusec-opt.cpp - run passes on MLIR text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "fusec/Fusion/Passes.h"
#include "fusec/Reference/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#ifdef FUSEC_WITH_TEST_PASSES
namespace fusec::test {
void registerTestBuildElements();
} // namespace fusec::test
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<fusec::graph::GraphDialect, mlir::func::FuncDialect>();
  fusec::graph::registerGraphPasses();
  mlir::registerTransformsPasses();
  fusec::fusion::registerFusionPasses();
  fusec::reference::registerReferencePasses();
#ifdef FUSEC_WITH_TEST_PASSES
  fusec::test::registerTestBuildElements();
#endif
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "fusec pass driver\n", registry));
}
