//===- FormGroups.h - the planner as a function -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Legality is Analysis/RegionShape.h, profit Analysis/CostModel.h; this layer
// chooses groups and rewrites.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSION_FORMGROUPS_H
#define FUSEC_FUSION_FORMGROUPS_H

#include "fusec/Fusion/FusionDecisions.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <functional>

namespace fusec::fusion {

/// Where reductions of a contraction's rows and columns are a part of its
/// kernel: nowhere, where one kernel is estimated to be no slower than two, or
/// wherever it is legal.
enum class ProductStatistics : uint8_t { Never, WherePaying, Always };

/// Options of the planner.
struct FormGroupsOptions {
  TargetInfo target = TargetInfo::h200();
  /// Most ops of a kernel: bounds what the kernel compiler gets.
  unsigned maxOps = 512;
  /// Most inputs and outputs of a kernel: kernel arguments are 4 KiB, pointers
  /// and sizes included.
  unsigned maxBuffers = 64;
  /// Most values live at once in a thread, of 255 registers.
  unsigned maxLiveValues = 128;
  /// Also put small independent kernels side by side in one launch, and tiny
  /// ones that depend on each other one after the other.
  bool horizontal = true;
  /// Also make reductions of a contraction's rows and columns a part of its
  /// kernel.
  ProductStatistics productStatistics = ProductStatistics::WherePaying;
};

/// What `fusion` becomes as a kernel; no ops and no cost if it is not legal.
KernelDecision describeKernel(analysis::FactTable &facts,
                              graph::FusionOp fusion, const TargetInfo &target);

/// Makes `decisions` say what runs: `parts`, one kernel each, in place of
/// kernel number `kernel`, whose region was not built because of `why`. Later
/// kernels move up; edges inside the region are no longer fused, for that
/// reason.
void recordSplit(FusionDecisions &decisions, unsigned kernel,
                 llvm::ArrayRef<graph::FusionOp> parts,
                 const analysis::Refusal &why, const TargetInfo &target);

/// Makes `decisions` say that `apart`, parts of the launch `kernel`, are
/// launches of their own behind it because of `why`.
void recordApart(FusionDecisions &decisions, unsigned kernel,
                 llvm::ArrayRef<graph::FusionOp> apart,
                 const analysis::Refusal &why, const TargetInfo &target);

/// Rewrites the body of `function` so that every fusible op is in a
/// `graph.fusion` whose region `analyzeFusion` accepts, and returns what was
/// decided; fusions that are there already stay and are among the kernels,
/// which are in program order. Small and splat constants are copied into the
/// fusions. Ops without FusibleOpInterface stay as they are. Running it again
/// changes nothing.
FusionDecisions formGroups(mlir::FunctionOpInterface function,
                           const FormGroupsOptions &options = {});

/// Checks what formGroups guarantees: every fusible op of the body is inside a
/// fusion and every fusion has a legal shape. Emits an error where not.
mlir::LogicalResult verifyGroups(mlir::FunctionOpInterface function);

} // namespace fusec::fusion

#endif // FUSEC_FUSION_FORMGROUPS_H
