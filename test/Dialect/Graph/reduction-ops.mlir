// RUN: fusec-opt %s --verify-roundtrip | FileCheck %s
// RUN: fusec-opt %s --test-graph-build-elements -o /dev/null
// RUN: fusec-opt %s --test-graph-build-elements --canonicalize | FileCheck %s --check-prefix=SCALAR

// CHECK-LABEL: func @reduce
// SCALAR-LABEL: func @reduce
func.func @reduce(%x: tensor<8x64xf16>, %b: tensor<3xi1>, %u: tensor<2x3x5xui8>, %e: tensor<4x0xi32>) -> (tensor<8xf16>, tensor<i1>, tensor<3xui8>, tensor<4xi32>) {
  // CHECK: graph.reduce sum %{{.*}} [1] : tensor<8x64xf16> -> tensor<8xf16>
  // Half precision accumulates in f32 and rounds once.
  // SCALAR: scf.for
  // SCALAR: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
  // SCALAR: arith.extf
  // SCALAR: arith.addf %[[SUM]], %{{.*}} : f32
  // SCALAR: arith.truncf %{{.*}} : f32 to f16
  %0 = graph.reduce sum %x [1] : tensor<8x64xf16> -> tensor<8xf16>
  // CHECK: graph.reduce all %{{.*}} [0] : tensor<3xi1> -> tensor<i1>
  // SCALAR: arith.andi
  %1 = graph.reduce all %b [0] : tensor<3xi1> -> tensor<i1>
  // CHECK: graph.reduce max %{{.*}} [0, 2] : tensor<2x3x5xui8> -> tensor<3xui8>
  // SCALAR: arith.maxui %{{.*}} : i8
  %2 = graph.reduce max %u [0, 2] : tensor<2x3x5xui8> -> tensor<3xui8>
  // The empty reduction gives the identity without a loop over nothing.
  // SCALAR: scf.for
  // SCALAR-NEXT: tensor.insert %c-2147483648_i32
  %3 = graph.reduce max %e [1] : tensor<4x0xi32> -> tensor<4xi32>
  return %0, %1, %2, %3 : tensor<8xf16>, tensor<i1>, tensor<3xui8>, tensor<4xi32>
}

// CHECK-LABEL: func @arg_reduce
// SCALAR-LABEL: func @arg_reduce
func.func @arg_reduce(%x: tensor<5x7xf32>) -> (tensor<5xi64>, tensor<7xi8>) {
  // The carried index is i32 for a short axis; ties go to the first index.
  // CHECK: graph.arg_reduce max %{{.*}} dimension = 1 : tensor<5x7xf32> -> tensor<5xi64>
  // SCALAR: iter_args(%[[V:.*]] = %{{.*}}, %[[I:.*]] = %{{.*}}) -> (f32, i32)
  // SCALAR: arith.cmpf ogt, %[[V]]
  // SCALAR: arith.cmpi slt, %[[I]]
  // SCALAR: arith.extsi %{{.*}} : i32 to i64
  %0 = graph.arg_reduce max %x dimension = 1 : tensor<5x7xf32> -> tensor<5xi64>
  // CHECK: graph.arg_reduce min %{{.*}} dimension = 0 {selectLast = true} : tensor<5x7xf32> -> tensor<7xi8>
  // SCALAR: arith.cmpf olt
  // SCALAR: arith.cmpi sgt
  %1 = graph.arg_reduce min %x dimension = 0 {selectLast = true} : tensor<5x7xf32> -> tensor<7xi8>
  return %0, %1 : tensor<5xi64>, tensor<7xi8>
}

// CHECK-LABEL: func @top_k
// SCALAR-LABEL: func @top_k
func.func @top_k(%x: tensor<5x7xf32>) -> (tensor<5xi64>, tensor<5xi64>) {
  // Value and index in one number; an element goes down the list.
  // CHECK: graph.top_k max %{{.*}} dimension = 1 : tensor<5x7xf32> -> tensor<5xi64>, tensor<5xi64>
  // SCALAR: iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (i64, i64)
  // SCALAR: %[[FIRST:.*]] = arith.maxsi %[[A]], %[[X:.*]] : i64
  // SCALAR: %[[REST:.*]] = arith.minsi %[[A]], %[[X]] : i64
  // SCALAR: %[[SECOND:.*]] = arith.maxsi %[[B]], %[[REST]] : i64
  // SCALAR: scf.yield %[[FIRST]], %[[SECOND]]
  %0:2 = graph.top_k max %x dimension = 1 : tensor<5x7xf32> -> tensor<5xi64>, tensor<5xi64>
  return %0#0, %0#1 : tensor<5xi64>, tensor<5xi64>
}

// CHECK-LABEL: func @cumulative
// SCALAR-LABEL: func @cumulative
func.func @cumulative(%x: tensor<5x7xi32>) -> (tensor<5x7xi32>, tensor<5x7xi32>) {
  // CHECK: graph.cumulative sum %{{.*}} dimension = 1 : tensor<5x7xi32>
  // SCALAR: arith.cmpi sle
  %0 = graph.cumulative sum %x dimension = 1 : tensor<5x7xi32>
  // CHECK: graph.cumulative prod %{{.*}} dimension = 0 {exclusive = true, reverse = true} : tensor<5x7xi32>
  // SCALAR: arith.cmpi sgt
  %1 = graph.cumulative prod %x dimension = 0 {exclusive = true, reverse = true} : tensor<5x7xi32>
  return %0, %1 : tensor<5x7xi32>, tensor<5x7xi32>
}

// CHECK-LABEL: func @window
// SCALAR-LABEL: func @window
func.func @window(%x: tensor<1x8x9x9xf32>) -> (tensor<1x8x5x5xf32>, tensor<1x8x7x9xf32>) {
  // CHECK: graph.window_reduce max %{{.*}} window [1, 1, 3, 3] strides [1, 1, 2, 2] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1]
  // Padding is skipped: the read is masked.
  // SCALAR: scf.if
  // SCALAR: tensor.extract
  // SCALAR: arith.maximumf
  %0 = graph.window_reduce max %x window [1, 1, 3, 3] strides [1, 1, 2, 2] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<1x8x9x9xf32> -> tensor<1x8x5x5xf32>
  // A window without padding needs no mask.
  // SCALAR-NOT: scf.if
  // SCALAR: arith.addf
  %1 = graph.window_reduce sum %x window [1, 1, 2, 1] strides [1, 1, 1, 1] dilations [1, 1, 2, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : tensor<1x8x9x9xf32> -> tensor<1x8x7x9xf32>
  return %0, %1 : tensor<1x8x5x5xf32>, tensor<1x8x7x9xf32>
}

// CHECK-LABEL: func @scatter
// SCALAR-LABEL: func @scatter
func.func @scatter(%x: tensor<4x6xf32>, %i: tensor<3x1xi64>, %u: tensor<3x6xf32>, %j: tensor<2x6xi32>, %v: tensor<2x6xf32>, %n: tensor<0x1xi64>, %w: tensor<0x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  // `assign` keeps the latest step, so it carries the step.
  // CHECK: graph.scatter_nd assign %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x6xf32>, tensor<3x1xi64>, tensor<3x6xf32>
  // SCALAR: -> (f32, i32)
  // SCALAR: arith.cmpi sgt
  %0 = graph.scatter_nd assign %x, %i, %u : tensor<4x6xf32>, tensor<3x1xi64>, tensor<3x6xf32>
  // CHECK: graph.scatter_elements add %{{.*}}, %{{.*}}, %{{.*}} axis = 0 : tensor<4x6xf32>, tensor<2x6xi32>, tensor<2x6xf32>
  // SCALAR: -> (f32)
  // SCALAR: arith.addf
  %1 = graph.scatter_elements add %x, %j, %v axis = 0 : tensor<4x6xf32>, tensor<2x6xi32>, tensor<2x6xf32>
  // No updates: only the old value.
  // SCALAR-NOT: arith.mulf
  // SCALAR: tensor.extract
  %2 = graph.scatter_nd assign %x, %n, %w : tensor<4x6xf32>, tensor<0x1xi64>, tensor<0x6xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
