//===- GraphMovementOps.td - ops that only move elements ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHMOVEMENTOPS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHMOVEMENTOPS_TD

include "fusec/Dialect/Graph/IR/GraphElementwiseOps.td"
include "mlir/IR/OpAsmInterface.td"

class Graph_MovementOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<FusibleOpInterface>]>;

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "a constant tensor";
  let description = [{
    Large values are `dense_resource` attributes.
    ```mlir
    %c = graph.constant dense<1.0> : tensor<4xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def Graph_IotaOp : Graph_MovementOp<"iota"> {
  let summary = "the index along one dimension, converted to the element type";
  let arguments = (ins I64Attr:$dimension);
  let results = (outs Graph_NumberTensor:$result);
  let assemblyFormat = "$dimension attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_BroadcastOp : Graph_MovementOp<"broadcast"> {
  let summary = "repeats a tensor along new or size-1 dimensions";
  let description = [{
    Dimension i of the operand becomes dimension `dimensions[i]` of the result
    (strictly increasing); its size equals the result's or is 1.
    ```mlir
    %r = graph.broadcast %bias [1] : tensor<64xf32> -> tensor<8x64x7x7xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand $dimensions attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_ReshapeOp : Graph_MovementOp<"reshape"> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_TransposeOp : Graph_MovementOp<"transpose", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "permutes dimensions: result dimension i is operand dimension permutation[i]";
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_SliceOp : Graph_MovementOp<"slice"> {
  let summary = "result[i] = operand[offsets + i * strides]; strides may be negative";
  let description = [{
    The sizes are the result's shape. Every index read must be in range.
    ```mlir
    %r = graph.slice %x offsets [0, 9] strides [1, -1] : tensor<2x10xf32> -> tensor<2x10xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$operand `offsets` $offsets `strides` $strides attr-dict `:`
    type($operand) `->` type($result)}];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_PadOp : Graph_MovementOp<"pad", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "surrounds a tensor with `value`; low and high are >= 0";
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$value,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$operand `,` $value `low` $low `high` $high attr-dict `:`
    type($operand) `,` type($value) `->` type($result)}];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ConcatOp : Graph_MovementOp<"concat", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "joins tensors along `axis`";
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs `axis` `=` $axis attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_GatherOp : Graph_MovementOp<"gather", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "result[a.., i.., b..] = operand[a.., indices[i..], b..] at `axis`";
  let description = [{
    Negative indices count from the end; indices are then clamped to the axis
    (docs/semantics.md), so no index can read outside the operand. An axis of
    size 0 with a non-empty result is an error.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$operand `,` $indices `axis` `=` $axis attr-dict `:`
    type($operand) `,` type($indices) `->` type($result)}];
  let hasVerifier = 1;
}

def Graph_GatherElementsOp : Graph_MovementOp<"gather_elements", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "result[i] = operand[i with indices[i] at `axis`]";
  let description = "Index rules as `graph.gather`. The result has the shape of indices.";
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$operand `,` $indices `axis` `=` $axis attr-dict `:`
    type($operand) `,` type($indices) `->` type($result)}];
  let hasVerifier = 1;
}

def Graph_GatherNdOp : Graph_MovementOp<"gather_nd", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "gathers slices by index vectors in the last dimension of indices";
  let description = [{
    result[b.., i.., s..] = operand[b.., indices[b.., i.., :].., s..] with
    `batchDims` leading dimensions b. Index rules as `graph.gather`.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$batchDims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$operand `,` $indices attr-dict `:`
    type($operand) `,` type($indices) `->` type($result)}];
  let hasVerifier = 1;
}

def Graph_PhiloxOp : Graph_MovementOp<"philox", [AllTypesMatch<["seed", "offset"]>]> {
  let summary = "counter-based random bits: Philox4x32-10";
  let description = [{
    Element number i (row-major) is word i mod 4 of the block with counter
    (offset + i div 4) and key `seed`: two 64-bit scalars. Equal inputs give
    equal bits on every target (Salmon et al., SC 2011).
    ```mlir
    %bits = graph.philox %seed, %offset : tensor<ui64> -> tensor<128xui32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[UI64]>:$seed, RankedTensorOf<[UI64]>:$offset);
  let results = (outs RankedTensorOf<[UI32]>:$result);
  let assemblyFormat = "$seed `,` $offset attr-dict `:` type($seed) `->` type($result)";
  let hasVerifier = 1;
}

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHMOVEMENTOPS_TD
