//===- Passes.td - passes of the fusion planner ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alphabetical; fusec-fusion-merge-contractions runs first.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSION_PASSES_TD
#define FUSEC_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormGroupsPass : Pass<"fusec-fusion-form-groups", "::mlir::func::FuncOp"> {
  let summary = "Put every op into a graph.fusion that becomes one kernel";
  let description = [{
    Requires a function of primitive graph ops: composites decomposed,
    canonicalised, common subexpressions merged. Guarantees that every fusible
    op is in a `graph.fusion` with a legal shape (Analysis/RegionShape.h), that
    the block order is topological, and that a second run changes nothing. Runs
    after the graph clean-ups and before any lowering.

    ```mlir
    %0 = graph.exp %x : tensor<8xf32>
    %1 = graph.neg %0 : tensor<8xf32>
    // becomes
    %1 = graph.fusion(%a = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %2 = graph.exp %a : tensor<8xf32>
      %3 = graph.neg %2 : tensor<8xf32>
      graph.yield %3 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect"];
  let options = [
    Option<"arch", "arch", "std::string", "\"sm_90a\"",
           "Machine to plan for: sm_90a or sm_80">,
    Option<"maxOps", "max-ops", "unsigned", "512", "Most ops of a kernel">,
    Option<"maxBuffers", "max-buffers", "unsigned", "64",
           "Most inputs and outputs of a kernel">,
    Option<"maxLiveValues", "max-live-values", "unsigned", "128",
           "Most values live at once in a thread">,
    Option<"horizontal", "horizontal", "bool", "false",
           "Put small unrelated kernels side by side in one launch">,
    Option<"productStatistics", "product-statistics", "bool", "false",
           "Reduce rows and columns of a contraction's result in its kernel">,
    Option<"printDecisions", "print-decisions", "bool", "false",
           "Report every kernel and every edge that is not fused">,
    Option<"verifyGroups", "verify-groups", "bool", "false",
           "Check the guarantees afterwards">,
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels formed">,
    Statistic<"numFusedEdges", "fused-edges", "Edges inside kernels">,
    Statistic<"numClonedOps", "cloned-ops", "Ops computed more than once">,
  ];
}

def MergeContractionsPass : Pass<"fusec-fusion-merge-contractions", "::mlir::func::FuncOp"> {
  let summary = "Make one contraction of those that read the same operand";
  let description = [{
    Runs before `fusec-fusion-form-groups` on the same kind of function.
    Contractions of one operand with others that differ in one free dimension
    become one contraction with the others joined by `graph.concat`, and slices
    of its result; element-wise ops that follow all of them alike go with them.
    Only where the planner estimates that what stands around them is faster
    then. Concatenations of constants are left to `fusec-graph-fold-constants`.

    ```mlir
    %q = graph.contract %x, %wq ... -> tensor<8x16xf32>
    %k = graph.contract %x, %wk ... -> tensor<8x4xf32>
    // becomes
    %w = graph.concat %wq, %wk axis = 1 ...
    %m = graph.contract %x, %w ... -> tensor<8x20xf32>
    %q = graph.slice %m offsets [0, 0] strides [1, 1] ...
    %k = graph.slice %m offsets [0, 16] strides [1, 1] ...
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"arch", "arch", "std::string", "\"sm_90a\"",
           "Machine to plan for: sm_90a or sm_80">,
    Option<"printDecisions", "print-decisions", "bool", "false",
           "Report every set of contractions and why it was not merged">,
  ];
  let statistics = [
    Statistic<"numMerged", "merged", "Sets of contractions made one">,
  ];
}

#endif // FUSEC_FUSION_PASSES_TD
