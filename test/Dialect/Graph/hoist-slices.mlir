// RUN: fusec-opt %s --fusec-graph-hoist-slices --canonicalize | FileCheck %s

// One row of a layer: its product, its norm and its residual have one row, the
// attention before it one query.
// CHECK-LABEL: func @row
// CHECK: %[[S:.*]] = graph.slice %arg0 offsets [7, 0]
// CHECK: %[[P:.*]] = graph.contract %[[S]], %arg1 {{.*}} -> tensor<1x64xf32>
// CHECK: graph.reduce sum %[[P]] [1] : tensor<1x64xf32>
// CHECK: graph.broadcast {{.*}} -> tensor<1x64xf32>
// CHECK: %[[R:.*]] = graph.div {{.*}} : tensor<1x64xf32>
// CHECK: return %[[R]]
func.func @row(%x: tensor<512x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32> {
  %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<512x64xf32>, tensor<64x64xf32> -> tensor<512x64xf32>
  %s = graph.reduce sum %y [1] : tensor<512x64xf32> -> tensor<512xf32>
  %b = graph.broadcast %s [0] : tensor<512xf32> -> tensor<512x64xf32>
  %d = graph.div %y, %b : tensor<512x64xf32>
  %r = graph.slice %d offsets [7, 0] strides [1, 1] : tensor<512x64xf32> -> tensor<1x64xf32>
  return %r : tensor<1x64xf32>
}

// An index that is known is a slice, counted from the end or too large.
// CHECK-LABEL: func @picked
// CHECK: %[[S:.*]] = graph.slice %arg0 offsets [0, 4, 0] {{.*}} -> tensor<2x1x8xf32>
// CHECK: graph.exp %[[S]] : tensor<2x1x8xf32>
// CHECK: graph.slice %arg0 offsets [0, 4, 0]
// CHECK: graph.sin
func.func @picked(%x: tensor<2x5x8xf32>) -> (tensor<2x8xf32>, tensor<2x1x8xf32>) {
  %last = graph.constant dense<-1> : tensor<i64>
  %far = graph.constant dense<[9]> : tensor<1xi64>
  %e = graph.exp %x : tensor<2x5x8xf32>
  %i = graph.sin %x : tensor<2x5x8xf32>
  %a = graph.gather %e, %last axis = 1 : tensor<2x5x8xf32>, tensor<i64> -> tensor<2x8xf32>
  %b = graph.gather %i, %far axis = 1 : tensor<2x5x8xf32>, tensor<1xi64> -> tensor<2x1x8xf32>
  return %a, %b : tensor<2x8xf32>, tensor<2x1x8xf32>
}

// One that is not known, and a box of more than half, change nothing.
// CHECK-LABEL: func @unknown
// CHECK: graph.exp %arg0 : tensor<6x8xf32>
// CHECK: graph.gather
// CHECK: graph.sin %arg0 : tensor<6x8xf32>
// CHECK: graph.slice
func.func @unknown(%x: tensor<6x8xf32>, %i: tensor<i64>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %e = graph.exp %x : tensor<6x8xf32>
  %a = graph.gather %e, %i axis = 0 : tensor<6x8xf32>, tensor<i64> -> tensor<8xf32>
  %s = graph.sin %x : tensor<6x8xf32>
  %b = graph.slice %s offsets [1, 0] strides [1, 1] : tensor<6x8xf32> -> tensor<4x8xf32>
  return %a, %b : tensor<8xf32>, tensor<4x8xf32>
}

// Several readers: the box around what they need, of which each has its part;
// strides may be negative.
// CHECK-LABEL: func @hull
// CHECK: %[[S:.*]] = graph.slice %arg0 offsets [2] {{.*}} -> tensor<6xf32>
// CHECK: %[[E:.*]] = graph.exp %[[S]] : tensor<6xf32>
// CHECK: graph.slice %[[E]] offsets [0] strides [1] : tensor<6xf32> -> tensor<2xf32>
// CHECK: graph.slice %[[E]] offsets [5] strides [-2] : tensor<6xf32> -> tensor<2xf32>
func.func @hull(%x: tensor<16xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %e = graph.exp %x : tensor<16xf32>
  %a = graph.slice %e offsets [2] strides [1] : tensor<16xf32> -> tensor<2xf32>
  %b = graph.slice %e offsets [7] strides [-2] : tensor<16xf32> -> tensor<2xf32>
  return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// A value that another reader needs is made once, as a whole.
// CHECK-LABEL: func @shared
// CHECK: %[[E:.*]] = graph.exp %arg0 : tensor<16xf32>
// CHECK: %[[S:.*]] = graph.slice %[[E]]
// CHECK: graph.sin %[[S]] : tensor<1xf32>
// CHECK-NOT: graph.exp
// CHECK: return
func.func @shared(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<1xf32>) {
  %e = graph.exp %x : tensor<16xf32>
  %s = graph.sin %e : tensor<16xf32>
  %a = graph.slice %s offsets [2] strides [1] : tensor<16xf32> -> tensor<1xf32>
  return %e, %a : tensor<16xf32>, tensor<1xf32>
}

// Axes that a reshape leaves alone; through the others parts do not go.
// CHECK-LABEL: func @heads
// CHECK: graph.slice %arg0 offsets [0, 3, 0] {{.*}} -> tensor<2x1x12xf32>
// CHECK: graph.exp %{{.*}} : tensor<2x1x12xf32>
// CHECK: graph.reshape %{{.*}} : tensor<2x1x12xf32> -> tensor<2x1x3x4xf32>
// CHECK: graph.transpose %{{.*}} [0, 2, 1, 3] : tensor<2x1x3x4xf32>
// CHECK: graph.exp %arg0 : tensor<2x6x12xf32>
// CHECK: graph.reshape
// CHECK: graph.slice
func.func @heads(%x: tensor<2x6x12xf32>) -> (tensor<2x3x1x4xf32>, tensor<2x6x1x4xf32>) {
  %e = graph.exp %x : tensor<2x6x12xf32>
  %h = graph.reshape %e : tensor<2x6x12xf32> -> tensor<2x6x3x4xf32>
  %t = graph.transpose %h [0, 2, 1, 3] : tensor<2x6x3x4xf32> -> tensor<2x3x6x4xf32>
  %a = graph.slice %t offsets [0, 0, 3, 0] strides [1, 1, 1, 1] : tensor<2x3x6x4xf32> -> tensor<2x3x1x4xf32>
  %f = graph.exp %x : tensor<2x6x12xf32>
  %g = graph.reshape %f : tensor<2x6x12xf32> -> tensor<2x6x3x4xf32>
  %b = graph.slice %g offsets [0, 0, 1, 0] strides [1, 1, 1, 1] : tensor<2x6x3x4xf32> -> tensor<2x6x1x4xf32>
  return %a, %b : tensor<2x3x1x4xf32>, tensor<2x6x1x4xf32>
}

// What is summed is needed as a whole; positions stay what they are.
// CHECK-LABEL: func @positions
// CHECK: graph.iota
// CHECK: graph.add {{.*}} : tensor<1x16xf32>
// CHECK: graph.reduce sum {{.*}} : tensor<1x16xf32> -> tensor<1xf32>
func.func @positions(%x: tensor<8x16xf32>) -> tensor<1xf32> {
  %i = graph.iota 0 : tensor<8x16xf32>
  %p = graph.add %x, %i : tensor<8x16xf32>
  %s = graph.reduce sum %p [1] : tensor<8x16xf32> -> tensor<8xf32>
  %r = graph.slice %s offsets [5] strides [1] : tensor<8xf32> -> tensor<1xf32>
  return %r : tensor<1xf32>
}

// Nothing of nothing.
// CHECK-LABEL: func @empty
// CHECK: graph.exp %arg0 : tensor<4x0xf32>
func.func @empty(%x: tensor<4x0xf32>) -> tensor<1x0xf32> {
  %e = graph.exp %x : tensor<4x0xf32>
  %s = graph.slice %e offsets [1, 0] strides [1, 1] : tensor<4x0xf32> -> tensor<1x0xf32>
  %n = graph.neg %s : tensor<1x0xf32>
  return %n : tensor<1x0xf32>
}

// A part without elements needs none.
// CHECK-LABEL: func @empty_part
// CHECK: graph.exp %arg0 : tensor<2x11xf32>
// CHECK: graph.slice
func.func @empty_part(%x: tensor<2x11xf32>) -> (tensor<2x0xf32>, tensor<1x1xf32>) {
  %e = graph.exp %x : tensor<2x11xf32>
  %n = graph.neg %e : tensor<2x11xf32>
  %a = graph.slice %n offsets [0, 0] strides [1, 1] : tensor<2x11xf32> -> tensor<2x0xf32>
  %b = graph.slice %n offsets [0, 0] strides [1, 1] : tensor<2x11xf32> -> tensor<1x1xf32>
  return %a, %b : tensor<2x0xf32>, tensor<1x1xf32>
}
