//===- Plan.h - compiling a graph for other sizes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compilation decides much from sizes: what is fused, how a kernel is tiled,
// which loops are rows. A Plan keeps the decisions with the graph that they
// were made for, and `compileLike` takes them for the same graph in other
// sizes, usually another batch. Nothing is searched, and where the size is only
// in run-time extents and grids, which schedules see to for the outermost axis,
// the texts are those that are compiled already.
//
// Two graphs are the same if the first one, given the sizes of the second,
// simplifies to what the second one simplifies to. So a number that somebody
// derived from the batch (a mean over it) and an initializer with one row an
// item make another graph, and a frontend that leaves a broadcast out because
// the batch is 1 does not.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DRIVER_PLAN_H
#define FUSEC_DRIVER_PLAN_H

#include "fusec/Driver/Compile.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

namespace fusec::driver {

/// Regions that share a launch.
struct LaunchPlan {
  /// Positions among the fusions of Plan::regions.
  llvm::SmallVector<unsigned, 1> regions;
  /// Of a block, where several regions share it; else 0.
  int64_t threads = 0;
  /// By region: whether it is a step of a chain that every block does.
  llvm::SmallVector<bool, 1> repeated;
};

/// What a compilation decided. Lives in the context of its module, which must
/// outlive it; not thread-safe.
struct Plan {
  CompileOptions options;
  /// The simplified graph, and its regions as they were built.
  mlir::OwningOpRef<mlir::ModuleOp> graph, regions;
  /// In order of launch.
  std::vector<LaunchPlan> launches;
  fusion::FusionDecisions decisions;
  /// Texts of its kernels.
  llvm::StringSet<> texts;
};

/// How a compilation followed a plan.
struct FollowReport {
  /// Kernels whose text the plan's compilation has, too, and others.
  unsigned sharedKernels = 0, newKernels = 0;
  /// Why the graph was planned anew, else empty.
  std::string reason;
};

/// Compiles `module` as `compile` does with the options of `plan`, taking its
/// decisions. Both modules may be in different contexts; what is returned
/// speaks of the plan's. If the graphs are not the same, or no legal program
/// comes of the decisions, the graph is compiled by itself and the report says
/// why. Errors are those of `compile`.
llvm::Expected<Compilation> compileLike(const Plan &plan, mlir::ModuleOp module,
                                        FollowReport &report,
                                        const StageObserver &observer = {});

} // namespace fusec::driver

#endif // FUSEC_DRIVER_PLAN_H
