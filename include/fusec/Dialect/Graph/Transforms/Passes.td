//===- Passes.td - passes on the graph dialect -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alphabetical.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
#define FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeCompositesPass : Pass<"fusec-graph-decompose-composites"> {
  let summary = "replaces composites by their definition in primitive ops";
  let description = [{
    Every op with `CompositeOpInterface`, at any depth, is replaced by what
    `decompose` builds, until none is left. Any verified module is accepted;
    afterwards all graph ops outside control flow are fusible primitives. First
    pass of the pipeline.
    ```mlir
    %r = graph.silu %x : tensor<4xf32>
    // becomes
    %s = graph.logistic %x : tensor<4xf32>
    %r = graph.mul %x, %s : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect"];
  let statistics = [
    Statistic<"numDecomposed", "num-decomposed", "composites replaced">
  ];
}

#endif // FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
