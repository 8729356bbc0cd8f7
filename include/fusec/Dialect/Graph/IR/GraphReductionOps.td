//===- GraphReductionOps.td - ops with reduced axes --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPHREDUCTIONOPS_TD
#define FUSEC_DIALECT_GRAPH_IR_GRAPHREDUCTIONOPS_TD

include "fusec/Dialect/Graph/IR/GraphElementwiseOps.td"

class Graph_ReductionOp<string mnemonic, string role, list<Trait> traits = []>
    : Graph_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<FusibleOpInterface>,
        DeclareOpInterfaceMethods<ReductionOpInterface>]> {
  code reductionDefinition = [{
    ::mlir::Value $cppClass::buildElement(ElementBuilder &builder, unsigned result,
        ::mlir::ValueRange index, ElementReader &reader) {
      return buildReductionLoops(getOperation(), builder, result, index, reader);
    }
    FusionRole $cppClass::getFusionRole() { return FusionRole::}] # role # [{; }
  }];
  let extraClassDefinition = reductionDefinition;
}

def Graph_ReduceOp : Graph_ReductionOp<"reduce", "reduction",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "combines all elements along `dimensions`, which are removed";
  let description = [{
    `sum` and `prod` of f16, bf16 and f8 accumulate in f32 and round once;
    integers wrap; `max` and `min` give NaN if any element is NaN; `all` and
    `any` take bool. The empty reduction gives the identity (max: -inf or the
    least integer).
    ```mlir
    %s = graph.reduce sum %x [1] : tensor<8x64xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $operand $dimensions attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ArgReduceOp : Graph_ReductionOp<"arg_reduce", "reduction"> {
  let summary = "index of the maximum or minimum along one dimension";
  let description = [{
    `kind` is max or min. Ties: the first index, or the last with `selectLast`.
    A NaN wins over every number; the first (last) NaN is taken.
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_NumberTensor:$operand, I64Attr:$dimension,
                       DefaultValuedAttr<BoolAttr, "false">:$selectLast);
  let results = (outs Graph_IntTensor:$result);
  let assemblyFormat = "$kind $operand `dimension` `=` $dimension attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool readsRounded() { return true; }
  }];
}

def Graph_TopKOp : Graph_ReductionOp<"top_k", "reduction"> {
  let summary = "indices of the greatest or least elements along one dimension, in order";
  let description = [{
    Result j is where the element number j of the sorted dimension is: from the
    greatest down (`kind` max) or from the least up (min), in the order of
    `graph.arg_reduce`: NaN comes before every number, both zeros are equal, and
    of equal elements the one with the lower index comes first.
    ```mlir
    %i:2 = graph.top_k max %x dimension = 1 : tensor<8x64xf32> -> tensor<8xi64>, tensor<8xi64>
    ```
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_NumberTensor:$operand, I64Attr:$dimension);
  let results = (outs Variadic<Graph_IntTensor>:$indices);
  let assemblyFormat = "$kind $operand `dimension` `=` $dimension attr-dict `:` type($operand) `->` type($indices)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool readsRounded() { return true; }
    int64_t getElementCost() { return 14; }
    int64_t getSelected();
    ::mlir::Value buildCoarse(ElementBuilder &builder, ::mlir::ValueRange parallel,
        ::mlir::ValueRange reduced, ElementReader &reader);
    ::mlir::Value buildMayEnter(ElementBuilder &builder, ::mlir::Value coarse,
        ::mlir::Value last);
    ::llvm::SmallVector<::mlir::Value> buildAccumulate(ElementBuilder &builder,
        ::mlir::ValueRange state, ::mlir::ValueRange parallel,
        ::mlir::ValueRange reduced, ElementReader &reader);
  }];
}

def Graph_CumulativeOp : Graph_ReductionOp<"cumulative", "search", [SameOperandsAndResultType]> {
  let summary = "prefix sum (or prod, max, min) along one dimension";
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_NumberTensor:$operand, I64Attr:$dimension,
                       DefaultValuedAttr<BoolAttr, "false">:$exclusive,
                       DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs Graph_NumberTensor:$result);
  let assemblyFormat = "$kind $operand `dimension` `=` $dimension attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_WindowReduceOp : Graph_ReductionOp<"window_reduce", "window",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "combines the elements of a sliding window: pooling and stencils";
  let description = [{
    Every array has one entry per dimension. Result size per dimension is
    floor((n + low + high - dilation * (window - 1) - 1) / stride) + 1.
    Padding elements are skipped, so they count as the identity.
    ```mlir
    %p = graph.window_reduce max %x window [1, 1, 3, 3] strides [1, 1, 2, 2]
        dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1]
        : tensor<1x8x9x9xf32> -> tensor<1x8x5x5xf32>
    ```
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$operand,
      DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$kind $operand `window` $window `strides` $strides `dilations` $dilations
    `low` $low `high` $high attr-dict `:` type($operand) `->` type($result)}];
  let hasVerifier = 1;
}

def Graph_ContractOp : Graph_ReductionOp<"contract", "contraction"> {
  let summary = "batched sum of products (matrix multiplication)";
  let description = [{
    Result dimensions: batch dimensions in order, then the free dimensions of
    lhs, then those of rhs. Float products accumulate in f32 (f64 for f64) and
    round once to the result type; integers accumulate in the result type.
    `allowTf32` permits rounding f32 operands to TF32.
    ```mlir
    %c = graph.contract %a, %b batch [0] x [0] contract [2] x [1]
        : tensor<4x8x16xf16>, tensor<4x16x32xf16> -> tensor<4x8x32xf16>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$lhs, Graph_NumberTensor:$rhs,
      DenseI64ArrayAttr:$lhsBatch, DenseI64ArrayAttr:$rhsBatch,
      DenseI64ArrayAttr:$lhsContract, DenseI64ArrayAttr:$rhsContract,
      DefaultValuedAttr<BoolAttr, "false">:$allowTf32);
  let results = (outs Graph_NumberTensor:$result);
  let assemblyFormat = [{$lhs `,` $rhs `batch` $lhsBatch `x` $rhsBatch
    `contract` $lhsContract `x` $rhsContract attr-dict `:`
    type($lhs) `,` type($rhs) `->` type($result)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Dimensions of lhs and rhs that are neither batch nor contracted.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
    ::llvm::SmallVector<::mlir::Value> buildAccumulate(ElementBuilder &builder,
        ::mlir::ValueRange state, ::mlir::ValueRange parallel,
        ::mlir::ValueRange reduced, ElementReader &reader);
  }];
}

def Graph_ConvolutionOp : Graph_ReductionOp<"convolution", "window"> {
  let summary = "grouped, strided, dilated, padded convolution in any layout";
  let description = [{
    `inputDims` names the positions of batch, channel and the spatial
    dimensions in the input; `kernelDims` those of output channel, input channel
    (per group) and spatial in the kernel; `resultDims` those of batch, channel
    and spatial in the result. NCHW/OIHW: [0, 1, 2, 3] each. Cross-correlation:
    the kernel is not flipped. Padding elements are zeros that are multiplied
    like others (0 * inf is NaN). Accumulation as `graph.contract`.
    ```mlir
    %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
        dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
        : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x8x8xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$input, Graph_NumberTensor:$kernel,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
      DenseI64ArrayAttr:$inputDims, DenseI64ArrayAttr:$kernelDims, DenseI64ArrayAttr:$resultDims,
      I64Attr:$groups, DefaultValuedAttr<BoolAttr, "false">:$allowTf32);
  let results = (outs Graph_NumberTensor:$result);
  let assemblyFormat = [{$input `,` $kernel `strides` $strides `dilations` $dilations
    `low` $low `high` $high `dims` $inputDims `x` $kernelDims `->` $resultDims
    `groups` `=` $groups attr-dict `:` type($input) `,` type($kernel) `->` type($result)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Value> buildAccumulate(ElementBuilder &builder,
        ::mlir::ValueRange state, ::mlir::ValueRange parallel,
        ::mlir::ValueRange reduced, ElementReader &reader);
  }];
}

def Graph_ScatterNdOp : Graph_ReductionOp<"scatter_nd", "search", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "the operand with updates applied at index vectors, in index order";
  let description = [{
    As ONNX ScatterND: indices [u.., k], updates [u.., operand dims from k].
    Updates to one place apply in row-major order of u, so `assign` keeps the
    last: deterministic. Out-of-range indices are skipped; negative count from
    the end.
  }];
  let arguments = (ins Graph_ScatterKindAttr:$kind, Graph_Tensor:$operand, Graph_IntTensor:$indices,
                       Graph_Tensor:$updates);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$kind $operand `,` $indices `,` $updates attr-dict `:`
    type($operand) `,` type($indices) `,` type($updates)}];
  let hasVerifier = 1;
}

def Graph_ScatterElementsOp : Graph_ReductionOp<"scatter_elements", "search", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "the operand with updates[i] applied at i with indices[i] on `axis`";
  let description = "Order and index rules as `graph.scatter_nd`.";
  let arguments = (ins Graph_ScatterKindAttr:$kind, Graph_Tensor:$operand, Graph_IntTensor:$indices,
                       Graph_Tensor:$updates, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$kind $operand `,` $indices `,` $updates `axis` `=` $axis attr-dict `:`
    type($operand) `,` type($indices) `,` type($updates)}];
  let hasVerifier = 1;
}

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPHREDUCTIONOPS_TD
