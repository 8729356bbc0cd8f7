//===- GraphOps.td - all ops of the graph dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHOPS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHOPS_TD

include "fusec/Dialect/Graph/IR/GraphAttrs.td"
include "fusec/Dialect/Graph/IR/GraphCompositeOps.td"
include "fusec/Dialect/Graph/IR/GraphControlOps.td"
include "fusec/Dialect/Graph/IR/GraphElementwiseOps.td"
include "fusec/Dialect/Graph/IR/GraphMovementOps.td"
include "fusec/Dialect/Graph/IR/GraphReductionOps.td"

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHOPS_TD
