//===- GraphAttrs.td - attributes of the graph dialect -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHATTRS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHATTRS_TD

include "fusec/Dialect/Graph/IR/GraphDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

def Graph_DimsAttr : AttrDef<Graph_Dialect, "Dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding, ["verifyEncoding"]>]> {
  let mnemonic = "dims";
  let summary = "names and range facts of a tensor's dynamic dimensions";
  let description = [{
    A tensor encoding with one entry per dimension: `?` says nothing, a string
    names the size. Dimensions of one name have one size in the whole function.
    `in [min, max]` bounds the size (`?`: no bound), `by` divides it. Only
    dynamic dimensions may be named.
    ```mlir
    tensor<?x?x64xf32, #graph.dims<"batch" in [1, 32], "seq" in [1, ?] by 8, ?>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::fusec::graph::DimFact", "one per dimension">:$facts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHATTRS_TD
