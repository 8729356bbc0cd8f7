//===- RegionLowering.h - regions to block programs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_REGIONLOWERING_H
#define FUSEC_LIB_DRIVER_REGIONLOWERING_H

#include "SameRegion.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Driver/Compile.h"
#include "fusec/Driver/Diagnostics.h"
#include "fusec/Driver/Plan.h"
#include "fusec/Target/CUDA/CudaEmitter.h"

namespace fusec::driver {

/// A region on its way to a thread program.
struct LoweredRegion {
  graph::FusionOp fusion;
  bool isWide = false;
  tile::KernelOp tile;
  simt::KernelOp simt;
  /// The launch of an equal region, whose programs this one shares.
  std::optional<unsigned> equalTo = std::nullopt;
  /// A step of a chain that every block does where that is possible.
  bool isRepeated = false;
  /// Where the chooser was asked.
  std::optional<ScheduleDecision> decision = std::nullopt;
  /// Buffers whose columns may come in any order.
  cuda::RowBuffers rows = {};
};

/// The regions of one launch; several share it as parts.
using LoweredLaunch = llvm::SmallVector<LoweredRegion, 1>;

/// Whether one of `fusions` reads what another one makes.
bool isChain(llvm::ArrayRef<graph::FusionOp> fusions);

/// Turns regions into block programs.
class RegionLowering {
public:
  RegionLowering(mlir::ModuleOp kernels, const CompileOptions &options,
                 Compilation &result)
      : kernels(kernels), options{options.target, options.numerics},
        isBatchInvariant(options.batchInvariant),
        chooser(options.chooser.get()), vendor(options.vendor.get()),
        result(result) {}

  /// Lowers all regions of `function`; a region that no schedule reaches runs
  /// as one kernel per op.
  mlir::LogicalResult run(mlir::func::FuncOp function,
                          DiagnosticCollector &diagnostics);
  /// Lowers the regions of `function`, which are those of `plan` in other
  /// sizes, to launches of the same regions with the same decisions. Where one
  /// is not legal in these sizes, the region decides for itself. Grids and
  /// extents are for the sizes of `counted` if it is not null.
  mlir::LogicalResult run(mlir::func::FuncOp function, const Plan &plan,
                          mlir::ModuleOp counted,
                          DiagnosticCollector &diagnostics);

  std::vector<LoweredLaunch> launches;
  /// Parallel to `launches`: threads that the parts of one were made for, 0 for
  /// launches of one region.
  std::vector<int64_t> threads;

private:
  std::optional<LoweredRegion> findEqual(graph::FusionOp fusion);
  mlir::FailureOr<LoweredRegion> lower(graph::FusionOp fusion,
                                       const analysis::RegionForm &form,
                                       const TileOptions &tileOptions);
  void addLaunch(LoweredRegion region, const analysis::RegionForm &form);
  llvm::SmallVector<graph::FusionOp> lowerParts(graph::FusionOp fusion);
  llvm::SmallVector<graph::FusionOp> lowerChain(graph::FusionOp fusion);
  mlir::LogicalResult follow(const LaunchPlan &plan,
                             llvm::ArrayRef<graph::FusionOp> fusions,
                             llvm::ArrayRef<graph::FusionOp> patterns,
                             llvm::ArrayRef<graph::FusionOp> counted,
                             DiagnosticCollector &diagnostics);

  mlir::ModuleOp kernels;
  TileOptions options;
  bool isBatchInvariant;
  const ScheduleChooser *chooser;
  const VendorChooser *vendor;
  Compilation &result;
  analysis::FactTable facts, patternFacts, countedFacts;
  unsigned numKernels = 0;
  SameRegions regions;
  llvm::DenseMap<mlir::Operation *, unsigned> launchOf;
};

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_REGIONLOWERING_H
