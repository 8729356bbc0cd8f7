//===- GraphEnums.td - enums of the graph dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHENUMS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHENUMS_TD

include "mlir/IR/EnumAttr.td"
include "fusec/Dialect/Graph/IR/GraphDialect.td"

class Graph_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::fusec::graph";
  let genSpecializedAttr = 0;
}

def Graph_ComparePredicate : Graph_Enum<"ComparePredicate", "comparison", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Graph_ComparePredicateAttr
    : EnumAttr<Graph_Dialect, Graph_ComparePredicate, "compare_predicate">;

// The combine objects of reductions: identity and combining function.
def Graph_ReduceKind : Graph_Enum<"ReduceKind", "combine object", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>,
  I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>,
  I32EnumAttrCase<"all", 4>, I32EnumAttrCase<"any", 5>]>;
def Graph_ReduceKindAttr : EnumAttr<Graph_Dialect, Graph_ReduceKind, "reduce_kind">;

def Graph_ScatterKind : Graph_Enum<"ScatterKind", "how an update meets the old value", [
  I32EnumAttrCase<"assign", 0>, I32EnumAttrCase<"add", 1>,
  I32EnumAttrCase<"mul", 2>, I32EnumAttrCase<"max", 3>, I32EnumAttrCase<"min", 4>]>;
def Graph_ScatterKindAttr : EnumAttr<Graph_Dialect, Graph_ScatterKind, "scatter_kind">;

def Graph_GeluKind : Graph_Enum<"GeluKind", "gelu formula", [
  I32EnumAttrCase<"erf", 0>, I32EnumAttrCase<"tanh", 1>]>;
def Graph_GeluKindAttr : EnumAttr<Graph_Dialect, Graph_GeluKind, "gelu_kind">;

// What an op is to the planner. Not a list of op names: schedules look at the
// iteration space; the role only says which of its parts exist.
def Graph_FusionRole : Graph_Enum<"FusionRole", "what an op is to the planner", [
  I32EnumAttrCase<"elementwise", 0>, // same index, no reduced axis
  I32EnumAttrCase<"movement", 1>,    // index arithmetic only
  I32EnumAttrCase<"reduction", 2>,   // reduced axes that operands see plainly
  I32EnumAttrCase<"window", 3>,      // reduced axes added to parallel ones
  I32EnumAttrCase<"contraction", 4>, // product summed over shared axes
  I32EnumAttrCase<"search", 5>]>;    // each result element looks through many (scatter, cumulative)

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHENUMS_TD
