//===- GraphControlOps.td - control flow and regions -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHCONTROLOPS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHCONTROLOPS_TD

include "fusec/Dialect/Graph/IR/GraphDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["FusionOp", "WhileOp", "ScanOp"]>]> {
  let summary = "ends a region of a graph op";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def Graph_FusionOp : Graph_Op<"fusion", [IsolatedFromAbove, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a region that becomes one kernel";
  let description = [{
    Block arguments stand for the operands, `graph.yield` gives the results.
    ```mlir
    %r = graph.fusion(%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      %s = graph.add %a, %b : tensor<4xf32>
      graph.yield %s : tensor<4xf32>
    }
    ```
    A body of fusions and nothing else is one launch of *parts*: side by side
    if each reads block arguments only, else a *chain*, whose parts run one
    after the other.
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The terminator, whose operands are the results.
    YieldOp getYield();
    /// The fusions in the body, in order; empty for an ordinary fusion.
    ::llvm::SmallVector<FusionOp, 0> getParts();
    /// Whether a part reads what another one makes.
    bool isChain();
    /// Moves the parts in front of this op, which is erased, and returns them.
    ::llvm::SmallVector<FusionOp, 0> unpack();
  }];
}

def Graph_WhileOp : Graph_Op<"while", [RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "repeats `body` while `condition` yields true";
  let description = [{
    Both regions take the carried values. `condition` yields one tensor<i1>,
    `body` the next carried values, of the same types. `maxTrips` bounds the
    number of iterations, so evaluation always ends.
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inits, I64Attr:$maxTrips);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = [{`(` $inits `)` `max_trips` `=` $maxTrips attr-dict `:` functional-type($inits, $results)
    $condition `do` $body}];
}

def Graph_ScanOp : Graph_Op<"scan", [RecursiveMemoryEffects, RecursivelySpeculatable, AttrSizedOperandSegments]> {
  let summary = "steps through the leading axis with carried values";
  let description = [{
    The body takes the carried values and one slice (leading dimension dropped)
    of each of `inputs`; it yields the next carried values and one slice of each
    stacked result. Results: final carried values, then stacked slices. With
    `reverse` the axis is walked from its end and slices stacked in place.
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inits, Variadic<Graph_Tensor>:$inputs,
                       I64Attr:$trips, DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = [{`carry` `(` $inits `)` `over` `(` $inputs `)` `trips` `=` $trips attr-dict `:`
    functional-type(operands, $results) $body}];
}

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHCONTROLOPS_TD
