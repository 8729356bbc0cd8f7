//===- TestLowering.cpp - one lowering at a time --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler lowers regions and block programs by functions. These passes
// call them, so that a test can show what goes in and what comes out:
//   --test-graph-to-tile: every graph.fusion becomes a tile.kernel @kernelN at
//     the module's end; the functions are erased;
//   --test-tile-to-simt: every tile.kernel becomes a simt.kernel in its place.
//===----------------------------------------------------------------------===//
#include "fusec/Conversion/GraphToTile.h"
#include "fusec/Conversion/TileToSimt.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace fusec;

namespace {

struct TestGraphToTile : PassWrapper<TestGraphToTile, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestGraphToTile)
  StringRef getArgument() const final { return "test-graph-to-tile"; }
  StringRef getDescription() const final {
    return "lower every graph.fusion to a block program";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                    tensor::TensorDialect, tile::TileDialect>();
  }

  void runOnOperation() override {
    SmallVector<graph::FusionOp> fusions;
    getOperation().walk(
        [&](graph::FusionOp fusion) { fusions.push_back(fusion); });
    analysis::FactTable facts;
    for (auto [i, fusion] : llvm::enumerate(fusions)) {
      analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
      if (!form) {
        fusion.emitOpError(form.refusal().sentence());
        return signalPassFailure();
      }
      if (failed(lowerRegion(fusion, *form, {TargetInfo::h200()},
                             getOperation(), "kernel" + std::to_string(i))))
        return signalPassFailure();
    }
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      function.erase();
  }
};

struct TestTileToSimt : PassWrapper<TestTileToSimt, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestTileToSimt)
  StringRef getArgument() const final { return "test-tile-to-simt"; }
  StringRef getDescription() const final {
    return "lower every block program to a thread program";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect,
                    simt::SimtDialect>();
  }

  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (failed(lowerTileKernel(kernel, /*wideOffsets=*/false)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace

namespace fusec::test {
void registerTestLowering() {
  PassRegistration<TestGraphToTile>();
  PassRegistration<TestTileToSimt>();
}
} // namespace fusec::test
