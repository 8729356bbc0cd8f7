//===- Passes.td - passes that use the evaluator -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alphabetical.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_REFERENCE_PASSES_TD
#define FUSEC_REFERENCE_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldConstantsPass : Pass<"fusec-graph-fold-constants"> {
  let summary = "computes ops whose operands are constants";
  let description = [{
    Fusible primitive ops on constants are replaced by the result of the
    reference evaluator, rounded to the result's type. Composites (whose
    definition is their decomposition), control flow and ops with dynamic
    results are left. Any verified module is accepted; the pass belongs behind
    `fusec-graph-decompose-composites`.

    A constant that is no splat never grows: its bytes may not exceed those of
    the op's operands (or 4096). Splats stay splats, whatever their size, and
    elementwise ops on splats are computed on one element. What would exceed a
    limit is left in place.
    ```mlir
    %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %r = graph.exp %a : tensor<2xf32>
    // becomes
    %r = graph.constant dense<[2.71828175, 7.38905621]> : tensor<2xf32>
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect"];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", "int64_t(1) << 24",
           "largest operand or result of a computed op, in elements">,
    Option<"maxBytes", "max-bytes", "int64_t", "int64_t(1) << 28",
           "bytes of all new constants that are no splats">,
    Option<"maxSteps", "max-steps", "int64_t", "int64_t(1) << 31",
           "points of all iteration spaces that are computed">
  ];
  let statistics = [
    Statistic<"numFolded", "num-folded", "ops replaced by constants">,
    Statistic<"numOverBudget", "num-over-budget", "ops left because of a limit">
  ];
}

#endif // FUSEC_REFERENCE_PASSES_TD
