// RUN: fusec-opt %s --split-input-file --verify-roundtrip --verify-diagnostics | FileCheck %s

// Dynamic sizes and their facts survive a reduction.
// CHECK-LABEL: func @reductions
func.func @reductions(%x: tensor<?x64xf32, #graph.dims<"n" in [1, ?] by 8, ?>>, %y: tensor<?x?xf32>) {
  // CHECK: graph.reduce sum %{{.*}} [1] : tensor<?x64xf32, #graph.dims<"n" in [1, ?] by 8, ?>> -> tensor<?xf32, #graph.dims<"n" in [1, ?] by 8>>
  %0 = graph.reduce sum %x [1] : tensor<?x64xf32, #graph.dims<"n" in [1, ?] by 8, ?>> -> tensor<?xf32, #graph.dims<"n" in [1, ?] by 8>>
  // CHECK: graph.reduce max %{{.*}} [0] : tensor<?x64xf32, #graph.dims<"n" in [1, ?] by 8, ?>> -> tensor<64xf32>
  %1 = graph.reduce max %x [0] : tensor<?x64xf32, #graph.dims<"n" in [1, ?] by 8, ?>> -> tensor<64xf32>
  // CHECK: graph.arg_reduce max %{{.*}} dimension = 1 : tensor<?x?xf32> -> tensor<?xi32>
  %2 = graph.arg_reduce max %y dimension = 1 : tensor<?x?xf32> -> tensor<?xi32>
  return
}

// CHECK-LABEL: func @contractions
func.func @contractions(%a: tensor<?x16xf32>, %b: tensor<16x?xf32>, %x: tensor<?x4x?x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // CHECK: graph.contract
  %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<?x16xf32>, tensor<16x?xf32> -> tensor<?x?xf32>
  // CHECK: graph.convolution
  %1 = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1 : tensor<?x4x?x8xf32>, tensor<6x4x3x3xf32> -> tensor<?x6x?x6xf32>
  return
}

// A named dimension without bounds, a full set of facts, and names that are no
// identifiers.
// CHECK-LABEL: func private @forms
// CHECK-SAME: tensor<?x4xf32, #graph.dims<"n", ?>>
// CHECK-SAME: tensor<?x?xf32, #graph.dims<"batch size" in [1, 64] by 8, "\22">>
func.func private @forms(tensor<?x4xf32, #graph.dims<"n", ?>>, tensor<?x?xf32, #graph.dims<"batch size" in [1, 64] by 8, "\22" in [0, ?]>>)

// -----

// expected-error@+1 {{#graph.dims has 1 entries for a tensor of rank 2}}
func.func private @rank(tensor<?x4xf32, #graph.dims<"n">>)

// -----

// expected-error@+1 {{#graph.dims names dimension 1, whose size 4 is static}}
func.func private @static(tensor<?x4xf32, #graph.dims<"n", "m">>)

// -----

// expected-error@+1 {{expected 0 <= min <= max for dimension "n"}}
func.func private @bounds(tensor<?xf32, #graph.dims<"n" in [5, 4]>>)

// -----

// expected-error@+1 {{expected a positive divisor for dimension "n", found 0}}
func.func private @divisor(tensor<?xf32, #graph.dims<"n" by 0>>)

// -----

// expected-error@+1 {{conflicting facts about dimension "n"}}
func.func private @conflict(tensor<?x?xf32, #graph.dims<"n" by 2, "n" by 4>>)

// -----

// expected-error@+1 {{expected a non-empty dimension name}}
func.func private @unnamed(tensor<?xf32, #graph.dims<"">>)
