// RUN: fusec-opt %s --verify-roundtrip | FileCheck %s
// RUN: fusec-opt %s --test-graph-build-elements --canonicalize | FileCheck %s --check-prefix=SCALAR

// CHECK-LABEL: func @contract
// SCALAR-LABEL: func @contract
func.func @contract(%a: tensor<4x8x16xf16>, %b: tensor<4x16x32xf16>, %i: tensor<3x5xui8>, %w: tensor<5xi8>, %d: tensor<2xf64>, %f: tensor<2xf32>) -> (tensor<4x8x32xf16>, tensor<3xi32>, tensor<2x2xf64>) {
  // CHECK: graph.contract %{{.*}}, %{{.*}} batch [0] x [0] contract [2] x [1] : tensor<4x8x16xf16>, tensor<4x16x32xf16> -> tensor<4x8x32xf16>
  // SCALAR: iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
  // SCALAR: math.fma %{{.*}}, %{{.*}}, %[[SUM]] : f32
  %0 = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<4x8x16xf16>, tensor<4x16x32xf16> -> tensor<4x8x32xf16>
  // Each operand is widened by its own signedness.
  // CHECK: graph.contract %{{.*}}, %{{.*}} batch [] x [] contract [1] x [0] : tensor<3x5xui8>, tensor<5xi8> -> tensor<3xi32>
  // SCALAR-DAG: arith.extui %{{.*}} : i8 to i32
  // SCALAR-DAG: arith.extsi %{{.*}} : i8 to i32
  // SCALAR: arith.muli %{{.*}} : i32
  // SCALAR: arith.addi %{{.*}} : i32
  %1 = graph.contract %i, %w batch [] x [] contract [1] x [0] : tensor<3x5xui8>, tensor<5xi8> -> tensor<3xi32>
  // Nothing contracted: an outer product, in f64 because one operand is.
  // CHECK: graph.contract %{{.*}}, %{{.*}} batch [] x [] contract [] x [] : tensor<2xf64>, tensor<2xf32> -> tensor<2x2xf64>
  // SCALAR: arith.extf %{{.*}} : f32 to f64
  // SCALAR: math.fma %{{.*}} : f64
  %2 = graph.contract %d, %f batch [] x [] contract [] x [] : tensor<2xf64>, tensor<2xf32> -> tensor<2x2xf64>
  return %0, %1, %2 : tensor<4x8x32xf16>, tensor<3xi32>, tensor<2x2xf64>
}

// CHECK-LABEL: func @convolution
// SCALAR-LABEL: func @convolution
func.func @convolution(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %y: tensor<2x9x3xf32>, %v: tensor<2x3x5xf32>) -> (tensor<1x6x4x4xf32>, tensor<2x5x8xf32>) {
  // CHECK: graph.convolution %{{.*}}, %{{.*}} strides [2, 2] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 2 : tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x4x4xf32>
  // The group of an output channel chooses its input channels.
  // SCALAR: arith.div{{[us]}}i
  // SCALAR: scf.if
  // SCALAR: math.fma
  %0 = graph.convolution %x, %w strides [2, 2] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 2 : tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x4x4xf32>
  // One dimension, channels last, another layout for the result.
  // CHECK: graph.convolution %{{.*}}, %{{.*}} strides [1] dilations [1] low [0] high [0] dims [0, 2, 1] x [2, 1, 0] -> [0, 1, 2] groups = 1
  // SCALAR-NOT: scf.if
  // SCALAR: math.fma
  %1 = graph.convolution %y, %v strides [1] dilations [1] low [0] high [0] dims [0, 2, 1] x [2, 1, 0] -> [0, 1, 2] groups = 1 : tensor<2x9x3xf32>, tensor<2x3x5xf32> -> tensor<2x5x8xf32>
  return %0, %1 : tensor<1x6x4x4xf32>, tensor<2x5x8xf32>
}
