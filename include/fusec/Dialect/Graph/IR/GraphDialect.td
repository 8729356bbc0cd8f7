//===- GraphDialect.td - the graph dialect -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHDIALECT_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHDIALECT_TD

include "mlir/IR/OpBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::fusec::graph";
  let summary = "Deep-learning operator graphs on tensors";
  let description = [{
    Ops take and return ranked tensors by value. Shapes are explicit: there is
    no implicit broadcasting (`graph.broadcast` says it). Element types are
    f64 f32 f16 bf16 f8E4M3FN f8E5M2, signed integers as signless iN (N = 64 32
    16 8 4), unsigned integers as uiN, and booleans as i1. Dynamic dimensions
    are `?`.

    Primitive ops implement `FusibleOpInterface`; composites implement
    `CompositeOpInterface` and decompose to primitives.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

// Tensors of the element types above.
def Graph_FloatElement : AnyTypeOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2],
                                   "float element type">;
def Graph_IntElement : AnyTypeOf<[I64, I32, I16, I8, I<4>, UI64, UI32, UI16,
                                  UI8, UI<4>], "integer element type">;
def Graph_BoolElement : TypeConstraint<I1.predicate, "bool element type">;
def Graph_AnyElement : AnyTypeOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2, I64,
                                  I32, I16, I8, I<4>, UI64, UI32, UI16, UI8,
                                  UI<4>, I1], "fusec element type">;

def Graph_Tensor : RankedTensorOf<[Graph_AnyElement]>;
def Graph_FloatTensor : RankedTensorOf<[Graph_FloatElement]>;
def Graph_IntTensor : RankedTensorOf<[Graph_IntElement]>;
def Graph_NumberTensor : RankedTensorOf<[Graph_FloatElement, Graph_IntElement]>;
def Graph_BoolTensor : RankedTensorOf<[I1]>;
def Graph_IntOrBoolTensor : RankedTensorOf<[Graph_IntElement, I1]>;

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHDIALECT_TD
