// RUN: fusec-opt %s --fusec-graph-fold-constants | FileCheck %s
// RUN: fusec-opt %s --fusec-graph-fold-constants="max-elements=2" | FileCheck %s --check-prefix=ELEMENTS
// RUN: fusec-opt %s --fusec-graph-fold-constants="max-bytes=0" | FileCheck %s --check-prefix=BYTES
// RUN: fusec-opt %s --fusec-graph-fold-constants="max-steps=1" | FileCheck %s --check-prefix=STEPS

// A chain folds to its end, each op rounded to its type: 2048 + 1 is 2048 in
// half precision.
// CHECK-LABEL: func @chain
// ELEMENTS-LABEL: func @chain
// BYTES-LABEL: func @chain
// STEPS-LABEL: func @chain
func.func @chain() -> tensor<3xf16> {
  // CHECK-NEXT: %[[R:.*]] = graph.constant dense<[0.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf16>
  // CHECK-NEXT: return %[[R]]
  // ELEMENTS: graph.add
  // BYTES: graph.add
  // STEPS: graph.add
  %a = graph.constant dense<[2048.0, 1.0, 2.0]> : tensor<3xf16>
  %b = graph.constant dense<[1.0, 1.0, 1.0]> : tensor<3xf16>
  %c = graph.constant dense<[2048.0, 0.0, 0.0]> : tensor<3xf16>
  %0 = graph.add %a, %b : tensor<3xf16>
  %1 = graph.sub %0, %c : tensor<3xf16>
  return %1 : tensor<3xf16>
}

// Splats stay splats whatever their size, and take no budget.
// CHECK-LABEL: func @splat
// ELEMENTS-LABEL: func @splat
// BYTES-LABEL: func @splat
func.func @splat() -> tensor<100000x100000xf32> {
  // CHECK-NEXT: graph.constant dense<8.000000e+00> : tensor<100000x100000xf32>
  // CHECK-NEXT: return
  // ELEMENTS-NEXT: graph.constant dense<8.000000e+00> : tensor<100000x100000xf32>
  // BYTES-NEXT: graph.constant dense<8.000000e+00> : tensor<100000x100000xf32>
  %a = graph.constant dense<3.0> : tensor<f32>
  %0 = graph.broadcast %a [] : tensor<f32> -> tensor<100000x100000xf32>
  %1 = graph.exp2 %0 : tensor<100000x100000xf32>
  return %1 : tensor<100000x100000xf32>
}

// Attributes of the op reach the one-element form.
// CHECK-LABEL: func @splat_attributes
func.func @splat_attributes() -> (tensor<8xi1>, tensor<8xui8>) {
  // CHECK-DAG: graph.constant dense<true> : tensor<8xi1>
  // CHECK-DAG: graph.constant dense<255> : tensor<8xui8>
  %a = graph.constant dense<300.5> : tensor<8xf32>
  %b = graph.constant dense<2.0> : tensor<8xf32>
  %0 = graph.compare gt %a, %b : tensor<8xf32>
  %1 = graph.cast %a : tensor<8xf32> -> tensor<8xui8>
  return %0, %1 : tensor<8xi1>, tensor<8xui8>
}

// Constants that are no splats do not grow beyond a page.
// CHECK-LABEL: func @growth
func.func @growth() -> (tensor<512x4xf32>, tensor<2x4xf32>) {
  %a = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  // CHECK: graph.broadcast %{{.*}} [1] : tensor<4xf32> -> tensor<512x4xf32>
  %0 = graph.broadcast %a [1] : tensor<4xf32> -> tensor<512x4xf32>
  // CHECK-NOT: graph.broadcast
  %1 = graph.broadcast %a [1] : tensor<4xf32> -> tensor<2x4xf32>
  return %0, %1 : tensor<512x4xf32>, tensor<2x4xf32>
}

// A constant with equal rows is one row, where its users only move elements or
// compute on them, and has no dimension of size 1.
// CHECK-LABEL: func @repeats
func.func @repeats(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  // CHECK-DAG: %[[ROW:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // CHECK-DAG{LITERAL}: graph.constant dense<[[1.000000e+00, 2.000000e+00], [1.000000e+00, 2.000000e+00]]>
  // CHECK-DAG: %[[ROWS:.*]] = graph.broadcast %[[ROW]] [1] : tensor<2xf32> -> tensor<3x2xf32>
  // CHECK: graph.add %{{.*}}, %[[ROWS]]
  %r = graph.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<3x2xf32>
  %w = graph.constant dense<[[1.0, 2.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %0 = graph.add %x, %r : tensor<3x2xf32>
  %1 = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
}

// Rows that are gathered for each item alike are gathered once.
// CHECK-LABEL: func @positions
func.func @positions() -> tensor<600x2x2xf32> {
  // CHECK: %[[ROWS:.*]] = graph.constant dense<{{.*}}> : tensor<2x2xf32>
  // CHECK: graph.broadcast %[[ROWS]] [1, 2] : tensor<2x2xf32> -> tensor<600x2x2xf32>
  %t = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %i = graph.constant dense<[2, 0]> : tensor<2xi64>
  %all = graph.broadcast %i [1] : tensor<2xi64> -> tensor<600x2xi64>
  %0 = graph.gather %t, %all axis = 0 : tensor<3x2xf32>, tensor<600x2xi64> -> tensor<600x2x2xf32>
  return %0 : tensor<600x2x2xf32>
}

// Reductions, contractions and index ops fold as well.
// CHECK-LABEL: func @families
func.func @families() -> (tensor<i32>, tensor<2x2xi32>, tensor<2xi64>, tensor<3xi32>) {
  // CHECK-DAG: graph.constant dense<10> : tensor<i32>
  // CHECK-DAG{LITERAL}: graph.constant dense<[[7, 10], [15, 22]]> : tensor<2x2xi32>
  // CHECK-DAG: graph.constant dense<1> : tensor<2xi64>
  // CHECK-DAG: graph.constant dense<[0, 1, 2]> : tensor<3xi32>
  // CHECK: return
  %a = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %0 = graph.reduce sum %a [0, 1] : tensor<2x2xi32> -> tensor<i32>
  %1 = graph.contract %a, %a batch [] x [] contract [1] x [0] : tensor<2x2xi32>, tensor<2x2xi32> -> tensor<2x2xi32>
  %2 = graph.arg_reduce max %a dimension = 1 : tensor<2x2xi32> -> tensor<2xi64>
  %3 = graph.iota 0 : tensor<3xi32>
  return %0, %1, %2, %3 : tensor<i32>, tensor<2x2xi32>, tensor<2xi64>, tensor<3xi32>
}

// Composites and control flow are left; so are ops that also take a value.
// CHECK-LABEL: func @left
func.func @left(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: graph.silu
  %0 = graph.silu %a : tensor<2xf32>
  // CHECK: graph.add
  %1 = graph.add %a, %x : tensor<2xf32>
  // CHECK: graph.while
  %2 = graph.while (%a) max_trips = 2 : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%v: tensor<2xf32>):
    // CHECK: graph.constant dense<true> : tensor<i1>
    // CHECK-NEXT: graph.yield
    %one = graph.constant dense<1> : tensor<i32>
    %more = graph.compare eq %one, %one : tensor<i32>
    graph.yield %more : tensor<i1>
  } do {
  ^bb0(%v: tensor<2xf32>):
    graph.yield %v : tensor<2xf32>
  }
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
