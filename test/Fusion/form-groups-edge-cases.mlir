// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups --fusec-fusion-form-groups="verify-groups" | FileCheck %s

// Softmax with an unknown number of rows.
// CHECK-LABEL: func @dynamic_rows
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @dynamic_rows(%x: tensor<?x1000xf32>) -> tensor<?x1000xf32> {
  %m = graph.reduce max %x [1] : tensor<?x1000xf32> -> tensor<?xf32>
  %mb = graph.broadcast %m [0] : tensor<?xf32> -> tensor<?x1000xf32>
  %d = graph.sub %x, %mb : tensor<?x1000xf32>
  %e = graph.exp %d : tensor<?x1000xf32>
  %s = graph.reduce sum %e [1] : tensor<?x1000xf32> -> tensor<?xf32>
  %sb = graph.broadcast %s [0] : tensor<?xf32> -> tensor<?x1000xf32>
  %r = graph.div %e, %sb : tensor<?x1000xf32>
  return %r : tensor<?x1000xf32>
}

// -----

// No elements, one element, rank 0.
// CHECK-LABEL: func @degenerate
// CHECK: graph.fusion
// CHECK: return
func.func @degenerate(%x: tensor<0x3xf32>, %y: tensor<1x1xf32>, %z: tensor<f32>) -> (tensor<0xf32>, tensor<3xf32>, tensor<f32>) {
  %a = graph.reduce sum %x [1] : tensor<0x3xf32> -> tensor<0xf32>
  %b = graph.reduce max %x [0] : tensor<0x3xf32> -> tensor<3xf32>
  %c = graph.reduce sum %y [0, 1] : tensor<1x1xf32> -> tensor<f32>
  %d = graph.add %c, %z : tensor<f32>
  return %a, %b, %d : tensor<0xf32>, tensor<3xf32>, tensor<f32>
}

// -----

// Arguments and constants that are results, one value returned twice.
// CHECK-LABEL: func @returns
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-DAG: %[[C:.*]] = graph.constant
// CHECK: %[[E:.*]] = graph.fusion
// CHECK: return %[[X]], %[[C]], %[[E]], %[[E]]
func.func @returns(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c = graph.constant dense<2.0> : tensor<4xf32>
  %e = graph.mul %x, %c : tensor<4xf32>
  return %x, %c, %e, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A constant with more than 16 different elements is a buffer.
// CHECK-LABEL: func @large_constant
// CHECK: %[[C:.*]] = graph.constant dense<[0.0
// CHECK: graph.fusion({{.*}} = %[[C]])
// CHECK-NOT: graph.constant dense<[0.0
// CHECK: return
func.func @large_constant(%x: tensor<17xf32>) -> tensor<17xf32> {
  %c = graph.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<17xf32>
  %e = graph.mul %x, %c : tensor<17xf32>
  return %e : tensor<17xf32>
}

// -----

// Control flow stays outside, with kernels before and after it.
// CHECK-LABEL: func @around_a_loop
// CHECK: %[[A:.*]] = graph.fusion
// CHECK: %[[W:.*]] = graph.while(%[[A]])
// CHECK: graph.fusion({{.*}} = %[[W]]
// CHECK: return
func.func @around_a_loop(%x: tensor<f32>) -> tensor<f32> {
  %a = graph.exp %x : tensor<f32>
  %w = graph.while(%a) max_trips = 10 : (tensor<f32>) -> tensor<f32> {
  ^bb0(%v: tensor<f32>):
    %ten = graph.constant dense<10.0> : tensor<f32>
    %c = graph.compare lt %v, %ten : tensor<f32>
    graph.yield %c : tensor<i1>
  } do {
  ^bb0(%v: tensor<f32>):
    %n = graph.add %v, %v : tensor<f32>
    graph.yield %n : tensor<f32>
  }
  %b = graph.neg %w : tensor<f32>
  %r = graph.add %b, %a : tensor<f32>
  return %r : tensor<f32>
}

// -----

// A producer on a path around another kernel must not close a cycle.
// CHECK-LABEL: func @no_cycle
// CHECK-COUNT-3: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @no_cycle(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %s = graph.cumulative sum %p dimension = 0 : tensor<64x64xf32>
  %e = graph.tanh %p : tensor<64x64xf32>
  %r = graph.mul %e, %s : tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Nothing to do.
// CHECK-LABEL: func @empty
// CHECK-NEXT: return
func.func @empty() {
  return
}

// CHECK-LABEL: func private @external
func.func private @external(tensor<4xf32>) -> tensor<4xf32>

// -----

// The leading part of an axis has an identity map but another shape.
// CHECK-LABEL: func @leading_part
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @leading_part(%x: tensor<64xf32>, %y: tensor<32xf32>) -> (tensor<64xf32>, tensor<32xf32>) {
  %e = graph.exp %x : tensor<64xf32>
  %h = graph.slice %e offsets [0] strides [1] : tensor<64xf32> -> tensor<32xf32>
  %s = graph.add %h, %y : tensor<32xf32>
  return %e, %s : tensor<64xf32>, tensor<32xf32>
}
