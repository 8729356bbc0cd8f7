// RUN: fusec-opt %s --verify-roundtrip | FileCheck %s
// RUN: fusec-opt %s --test-graph-build-elements -o /dev/null
// RUN: fusec-opt %s --test-graph-build-elements --canonicalize | FileCheck %s --check-prefix=SCALAR

// CHECK-LABEL: func @forms
func.func @forms(%x: tensor<2x10xf32>, %s: tensor<f32>, %i: tensor<3xi32>, %seed: tensor<ui64>) {
  // CHECK: graph.constant dense<1.000000e+00> : tensor<4xf32>
  %0 = graph.constant dense<1.0> : tensor<4xf32>
  // CHECK: graph.iota 1 : tensor<2x3xi32>
  %1 = graph.iota 1 : tensor<2x3xi32>
  // CHECK: graph.broadcast %{{.*}} [0] : tensor<4xf32> -> tensor<4x2xf32>
  %2 = graph.broadcast %0 [0] : tensor<4xf32> -> tensor<4x2xf32>
  %3 = graph.broadcast %s [] : tensor<f32> -> tensor<4x2xf32>
  // CHECK: graph.reshape %{{.*}} : tensor<2x10xf32> -> tensor<4x5xf32>
  %4 = graph.reshape %x : tensor<2x10xf32> -> tensor<4x5xf32>
  // CHECK: graph.transpose %{{.*}} [1, 0] : tensor<2x10xf32> -> tensor<10x2xf32>
  %5 = graph.transpose %x [1, 0] : tensor<2x10xf32> -> tensor<10x2xf32>
  // CHECK: graph.slice %{{.*}} offsets [0, 9] strides [1, -1] : tensor<2x10xf32> -> tensor<2x10xf32>
  %6 = graph.slice %x offsets [0, 9] strides [1, -1] : tensor<2x10xf32> -> tensor<2x10xf32>
  // CHECK: graph.pad %{{.*}}, %{{.*}} low [0, 1] high [0, 2] : tensor<2x10xf32>, tensor<f32> -> tensor<2x13xf32>
  %7 = graph.pad %x, %s low [0, 1] high [0, 2] : tensor<2x10xf32>, tensor<f32> -> tensor<2x13xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} axis = 1 : tensor<2x10xf32>, tensor<2x13xf32> -> tensor<2x23xf32>
  %8 = graph.concat %x, %7 axis = 1 : tensor<2x10xf32>, tensor<2x13xf32> -> tensor<2x23xf32>
  // CHECK: graph.gather %{{.*}}, %{{.*}} axis = 1 : tensor<2x10xf32>, tensor<3xi32> -> tensor<2x3xf32>
  %9 = graph.gather %x, %i axis = 1 : tensor<2x10xf32>, tensor<3xi32> -> tensor<2x3xf32>
  // CHECK: graph.gather_elements
  %10 = graph.gather_elements %x, %1 axis = 1 : tensor<2x10xf32>, tensor<2x3xi32> -> tensor<2x3xf32>
  // CHECK: graph.gather_nd %{{.*}}, %{{.*}} {batchDims = 1 : i64} : tensor<2x10xf32>, tensor<2x1xui8> -> tensor<2xf32>
  %11 = graph.iota 1 : tensor<2x1xui8>
  %12 = graph.gather_nd %x, %11 {batchDims = 1 : i64} : tensor<2x10xf32>, tensor<2x1xui8> -> tensor<2xf32>
  // CHECK: graph.philox %{{.*}}, %{{.*}} : tensor<ui64> -> tensor<3x5xui32>
  %13 = graph.philox %seed, %seed : tensor<ui64> -> tensor<3x5xui32>
  return
}

// Sizes 0 and 1, rank 0.
// CHECK-LABEL: func @degenerate
func.func @degenerate(%e: tensor<0x3xf32>, %u: tensor<1xf32>, %s: tensor<f32>) {
  %0 = graph.reshape %e : tensor<0x3xf32> -> tensor<5x0xf32>
  %1 = graph.reshape %u : tensor<1xf32> -> tensor<f32>
  %2 = graph.reshape %s : tensor<f32> -> tensor<1x1xf32>
  %3 = graph.transpose %s [] : tensor<f32> -> tensor<f32>
  %4 = graph.slice %e offsets [0, 3] strides [1, 1] : tensor<0x3xf32> -> tensor<0x0xf32>
  %5 = graph.concat %e, %e axis = 0 : tensor<0x3xf32>, tensor<0x3xf32> -> tensor<0x3xf32>
  %6 = graph.pad %e, %s low [1, 0] high [0, 0] : tensor<0x3xf32>, tensor<f32> -> tensor<1x3xf32>
  return
}

// An expansion and a collapse each cost what they must, and common factors are
// found: no linear index.
// SCALAR-LABEL: func @reshapes
func.func @reshapes(%x: tensor<12x5xf32>) -> tensor<3x4x5xf32> {
  // SCALAR: scf.for %[[I:.*]] = %c0
  // SCALAR: scf.for %[[J:.*]] = %c0
  // SCALAR: scf.for %[[K:.*]] = %c0
  // SCALAR-NEXT: %[[SCALED:.*]] = arith.muli %[[I]], %c4
  // SCALAR-NEXT: %[[ROW:.*]] = arith.addi %[[SCALED]], %[[J]]
  // SCALAR-NEXT: tensor.extract %{{.*}}[%[[ROW]], %[[K]]]
  %0 = graph.reshape %x : tensor<12x5xf32> -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}

// SCALAR-LABEL: func @collapse
func.func @collapse(%x: tensor<3x4xf32>) -> tensor<12xf32> {
  // SCALAR: scf.for %[[I:.*]] = %c0
  // SCALAR-NEXT: %[[Q:.*]] = arith.divui %[[I]], %c4
  // SCALAR-NEXT: %[[R:.*]] = arith.remui %[[I]], %c4
  // SCALAR-NEXT: tensor.extract %{{.*}}[%[[Q]], %[[R]]]
  %0 = graph.reshape %x : tensor<3x4xf32> -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// SCALAR-LABEL: func @regroup
func.func @regroup(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  // SCALAR: scf.for %[[I:.*]] = %c0
  // SCALAR: scf.for %[[J:.*]] = %c0
  // SCALAR-NEXT: %[[Q:.*]] = arith.divui %[[I]], %c2
  // SCALAR-NEXT: %[[R:.*]] = arith.remui %[[I]], %c2
  // SCALAR-NEXT: %[[S:.*]] = arith.muli %[[R]], %c3
  // SCALAR-NEXT: %[[T:.*]] = arith.addi %[[S]], %[[J]]
  // SCALAR-NEXT: tensor.extract %{{.*}}[%[[Q]], %[[T]]]
  %0 = graph.reshape %x : tensor<4x6xf32> -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// Shapes without a common factor go through the linear index.
// SCALAR-LABEL: func @relinearize
func.func @relinearize(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // SCALAR: %[[L:.*]] = arith.addi
  // SCALAR-NEXT: %[[Q:.*]] = arith.divui %[[L]], %c3
  // SCALAR: %[[R:.*]] = arith.remui %{{.*}}, %c3
  // SCALAR-NEXT: tensor.extract %{{.*}}[%[[Q]], %[[R]]]
  %0 = graph.reshape %x : tensor<2x3xf32> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// A gather index counts from the end if negative and is clamped, in 64 bits.
// SCALAR-LABEL: func @gather
func.func @gather(%x: tensor<5x2xf32>, %i: tensor<3xi32>) -> tensor<3x2xf32> {
  // SCALAR: %[[P:.*]] = arith.extsi %{{.*}} : i32 to i64
  // SCALAR: %[[N:.*]] = arith.cmpi slt, %[[P]], %c0_i64
  // SCALAR: %[[W:.*]] = arith.addi %[[P]], %c5_i64
  // SCALAR: %[[S:.*]] = arith.select %[[N]], %[[W]], %[[P]]
  // SCALAR: %[[L:.*]] = arith.maxsi %[[S]], %c0_i64
  // SCALAR: %[[M:.*]] = arith.minsi %[[L]], %c4_i64
  // SCALAR: %[[H:.*]] = arith.index_cast %[[M]] : i64 to index
  // SCALAR: tensor.extract %{{.*}}[%[[H]], %{{.*}}]
  %0 = graph.gather %x, %i axis = 0 : tensor<5x2xf32>, tensor<3xi32> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// Padding is never read.
// SCALAR-LABEL: func @pad
func.func @pad(%x: tensor<3xf32>, %v: tensor<f32>) -> tensor<5xf32> {
  // SCALAR: %[[I:.*]] = arith.addi %{{.*}}, %c-1
  // SCALAR: %[[IN:.*]] = arith.cmpi ult, %[[I]], %c3
  // SCALAR: scf.if %[[IN]]
  // SCALAR-NEXT: tensor.extract %{{.*}}[%[[I]]]
  %0 = graph.pad %x, %v low [1] high [1] : tensor<3xf32>, tensor<f32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
