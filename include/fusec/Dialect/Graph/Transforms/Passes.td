//===- Passes.td - passes on the graph dialect -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alphabetical.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
#define FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AlignProductsPass : Pass<"fusec-graph-align-products"> {
  let summary = "pads operands of large products to rows of 16 bytes";
  let description = [{
    Products of 2^30 multiplications and more, of 64 rows and columns at least,
    whose operands have the same 16-bit float type, 8 bits, or f32 that may be
    rounded to TF32: where the contracted dimension is the last one of an
    operand and its length no multiple of 16 bytes, both operands get zeros
    behind it. 16-bit operands whose last dimension is another one, and no
    multiple of 16 bytes, are transposed. Exact: zeros times zeros are added.
    ```mlir
    %r = graph.contract %a, %b batch [] x [] contract [1] x [1]
        : tensor<2048x1027xbf16>, tensor<2048x1027xbf16> -> tensor<2048x2048xbf16>
    // becomes
    %ap = graph.pad %a, %zero low [0, 0] high [0, 5]
    %bp = graph.pad %b, %zero low [0, 0] high [0, 5]
    %r = graph.contract %ap, %bp batch [] x [] contract [1] x [1]
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect"];
  let statistics = [
    Statistic<"numAligned", "num-aligned", "products with other operands">
  ];
}

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

def Float8ProductsPass : Pass<"fusec-graph-float8-products"> {
  let summary = "multiplies dequantised 8-bit floats as they are";
  let description = [{
    Sums of (a * sa) * (b * sb) over 16 terms or more, where a and b are 8-bit
    floats behind casts or dequantisation and sa and sb do not depend on what is
    summed, become sums of a * b in f32 that are scaled afterwards. For operands
    of 16 bits, and of 32 where `allowTf32` or `graph.fast_accumulation` says
    that their sums may be less accurate. For mode `default` alone
    (docs/semantics.md). The order of factors is one in which nothing overflows
    that the result does not; products with three or more factors of any size
    stay. Needs composites decomposed.
    ```mlir
    %x = graph.mul %a16, %sa : tensor<8x64xf16>       // %a16 = cast of f8E4M3FN
    %r = graph.contract %x, %b16 batch [] x [] contract [1] x [1]
    // becomes
    %p = graph.contract %a, %b batch [] x [] contract [1] x [1]
    %r = cast(%p * broadcast(%sa))
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect"];
  let statistics = [
    Statistic<"numNarrowed", "num-narrowed", "products of 8-bit floats">
  ];
}

def HoistSlicesPass : Pass<"fusec-graph-hoist-slices"> {
  let summary = "makes of values only what is read";
  let description = [{
    Where the readers of a value need at most half of it, together, the op that
    makes it is made for that box alone, and so is what it reads: element-wise
    ops, broadcasts, transposes, reductions, contractions, and reshapes of other
    axes. Where a value is needed as a whole by another reader, the op reads a
    slice of it. A gather of one index that is constant becomes a slice. Of a
    classifier that looks at one row of its last layer, that layer has one row.

    Requires: composites decomposed; functions with open sizes stay as they
    are. Guarantees: every element that is made is the same sum of the same
    terms; no op is made twice.
    ```mlir
    %y = graph.contract %x, %w batch [] x [] contract [1] x [0]
        : tensor<512x64xf32>, tensor<64x64xf32> -> tensor<512x64xf32>
    %r = graph.slice %y offsets [7, 0] strides [1, 1] : tensor<512x64xf32> -> tensor<1x64xf32>
    // becomes
    %s = graph.slice %x offsets [7, 0] strides [1, 1] : tensor<512x64xf32> -> tensor<1x64xf32>
    %r = graph.contract %s, %w batch [] x [] contract [1] x [0]
        : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect"];
}

def NarrowProductsPass : Pass<"fusec-graph-narrow-products"> {
  let summary = "takes zero points out of integer products";
  let description = [{
    Sums of (a - z) * b over 16 terms or more, in integers, where a and b have
    8-bit elements and z is one number, become sums of a * b and of b: tensor
    cores multiply 8-bit elements. Products of widened 8-bit elements read them
    as they are, also where they were transposed, reshaped or broadcast after
    that. 8-bit operands, integers and floats, that are not contiguous along k
    are transposed, if they are constant or shared by 256 rows of the other one;
    with `turn-singles` f32 operands that may be rounded to TF32 too, from 512
    rows on. Exact. Needs
    composites decomposed; constants that arise are left to
    `fusec-graph-fold-constants`.
    ```mlir
    %d = graph.sub %a32, %z : tensor<8x64xi32>        // %a32 = cast of i8
    %r = graph.contract %d, %b batch [] x [] contract [1] x [1]
    // becomes
    %p = graph.contract %a, %b batch [] x [] contract [1] x [1]
    %s = graph.contract %b, %ones batch [] x [] contract [1] x [0]
    %r = %p - %z * broadcast(%s)
    ```
  }];
  let dependentDialects = ["::fusec::graph::GraphDialect"];
  let options = [
    Option<"turnSingles", "turn-singles", "bool", "false",
           "transpose f32 operands of products in TF32">
  ];
}

#endif // FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
