//===- Passes.h - passes of the fusion planner ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSION_PASSES_H
#define FUSEC_FUSION_PASSES_H

#include "fusec/Fusion/FormGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace fusec::fusion {

#define GEN_PASS_DECL
#include "fusec/Fusion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "fusec/Fusion/Passes.h.inc"

/// Receives the decisions about one function; may be called from several
/// threads at once.
using DecisionSink =
    std::function<void(mlir::func::FuncOp, const FusionDecisions &)>;

/// The pass with typed options, handing its decisions to `sink` if there is
/// one.
std::unique_ptr<mlir::Pass>
createFormGroupsPass(const FormGroupsOptions &options, DecisionSink sink);

} // namespace fusec::fusion

#endif // FUSEC_FUSION_PASSES_H
