// RUN: fusec-opt %s --fusec-graph-narrow-products --fusec-graph-fold-constants --canonicalize | FileCheck %s

// A run-time zero point of the left operand, a constant right operand that is
// contiguous along n.
// CHECK-LABEL: func @dynamic_quantized
// CHECK-DAG: %[[W:.*]] = graph.constant dense<{{.*}}> : tensor<3x16xi8>
// CHECK-DAG: %[[SUMS:.*]] = graph.constant dense<{{\[?}}[-8, -240, 47{{.*}}> : tensor<{{(2x)?}}3xi32>
// CHECK: %[[Z1:.*]] = graph.cast %arg1 : tensor<ui8> -> tensor<i32>
// CHECK: %[[P:.*]] = graph.contract %arg0, %[[W]] batch [] x [] contract [1] x [1] : tensor<2x16xui8>, tensor<3x16xi8> -> tensor<2x3xi32>
// CHECK: %[[Z:.*]] = graph.mul
// CHECK: graph.sub %[[P]], %[[Z]]
func.func @dynamic_quantized(%a: tensor<2x16xui8>, %zero: tensor<ui8>) -> tensor<2x3xi32> {
  %w = graph.constant dense<[[-8, 0, 0], [-7, -2, 5], [-6, -4, 3], [-5, -6, 1], [-4, -8, 6], [-3, -10, 4], [-2, -12, 2], [-1, -14, 0], [0, -16, 5], [1, -18, 3], [2, -20, 1], [3, -22, 6], [4, -24, 4], [5, -26, 2], [6, -28, 0], [7, -30, 5]]> : tensor<16x3xi8>
  %wide = graph.cast %a : tensor<2x16xui8> -> tensor<2x16xi32>
  %z = graph.cast %zero : tensor<ui8> -> tensor<i32>
  %zs = graph.broadcast %z [] : tensor<i32> -> tensor<2x16xi32>
  %centred = graph.sub %wide, %zs : tensor<2x16xi32>
  %w32 = graph.cast %w : tensor<16x3xi8> -> tensor<16x3xi32>
  %r = graph.contract %centred, %w32 batch [] x [] contract [1] x [0]
      : tensor<2x16xi32>, tensor<16x3xi32> -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}

// Both zero points, at run time: each operand is summed.
// CHECK-LABEL: func @both
// CHECK: graph.contract %arg0, %arg1 {{.*}} : tensor<5x4x32xi8>, tensor<5x32x7xui8> -> tensor<5x4x7xi32>
// CHECK: graph.contract %arg0, %{{.*}} : tensor<5x4x32xi8>, tensor<5x32xi8> -> tensor<5x4xi32>
// CHECK: graph.contract %arg1, %{{.*}} : tensor<5x32x7xui8>, tensor<5x32xi8> -> tensor<5x7xi32>
// CHECK-NOT: graph.contract
func.func @both(%a: tensor<5x4x32xi8>, %b: tensor<5x32x7xui8>, %za: tensor<i32>, %zb: tensor<1xi32>) -> tensor<5x4x7xi32> {
  %a32 = graph.cast %a : tensor<5x4x32xi8> -> tensor<5x4x32xi32>
  %b32 = graph.cast %b : tensor<5x32x7xui8> -> tensor<5x32x7xi32>
  %zas = graph.broadcast %za [] : tensor<i32> -> tensor<5x4x32xi32>
  %zbs = graph.broadcast %zb [2] : tensor<1xi32> -> tensor<5x32x7xi32>
  %ac = graph.sub %a32, %zas : tensor<5x4x32xi32>
  %bc = graph.sub %b32, %zbs : tensor<5x32x7xi32>
  %r = graph.contract %ac, %bc batch [0] x [0] contract [2] x [1]
      : tensor<5x4x32xi32>, tensor<5x32x7xi32> -> tensor<5x4x7xi32>
  return %r : tensor<5x4x7xi32>
}

// A wide operand, a zero point for each k, and short sums stay.
// CHECK-LABEL: func @not_narrow
// CHECK-COUNT-3: graph.sub
// CHECK-NOT: graph.sub
func.func @not_narrow(%a: tensor<4x32xi8>, %wide: tensor<32x8xi32>, %b: tensor<32x8xi8>, %z: tensor<i32>, %zk: tensor<32xi32>,
                      %short: tensor<4x8xi8>, %c: tensor<8x8xi8>) -> (tensor<4x8xi32>, tensor<4x8xi32>, tensor<4x8xi32>) {
  %a32 = graph.cast %a : tensor<4x32xi8> -> tensor<4x32xi32>
  %zs = graph.broadcast %z [] : tensor<i32> -> tensor<4x32xi32>
  %ac = graph.sub %a32, %zs : tensor<4x32xi32>
  %r0 = graph.contract %ac, %wide batch [] x [] contract [1] x [0] : tensor<4x32xi32>, tensor<32x8xi32> -> tensor<4x8xi32>
  %zks = graph.broadcast %zk [1] : tensor<32xi32> -> tensor<4x32xi32>
  %ak = graph.sub %a32, %zks : tensor<4x32xi32>
  %r1 = graph.contract %ak, %b batch [] x [] contract [1] x [0] : tensor<4x32xi32>, tensor<32x8xi8> -> tensor<4x8xi32>
  %s32 = graph.cast %short : tensor<4x8xi8> -> tensor<4x8xi32>
  %zss = graph.broadcast %z [] : tensor<i32> -> tensor<4x8xi32>
  %sc = graph.sub %s32, %zss : tensor<4x8xi32>
  %r2 = graph.contract %sc, %c batch [] x [] contract [1] x [0] : tensor<4x8xi32>, tensor<8x8xi8> -> tensor<4x8xi32>
  return %r0, %r1, %r2 : tensor<4x8xi32>, tensor<4x8xi32>, tensor<4x8xi32>
}

// A zero point of wide integers takes no part in a narrow product: it stays.
// CHECK-LABEL: func @wide
// CHECK: %[[D:.*]] = graph.sub %arg0
// CHECK: graph.contract %[[D]], %{{.*}} : tensor<4x32xi32>
// CHECK-NOT: graph.contract
func.func @wide(%a: tensor<4x32xi32>, %b: tensor<32x8xi8>, %z: tensor<i32>) -> tensor<4x8xi32> {
  %zs = graph.broadcast %z [] : tensor<i32> -> tensor<4x32xi32>
  %d = graph.sub %a, %zs : tensor<4x32xi32>
  %r = graph.contract %d, %b batch [] x [] contract [1] x [0] : tensor<4x32xi32>, tensor<32x8xi8> -> tensor<4x8xi32>
  return %r : tensor<4x8xi32>
}

// Bytes that are widened before they are transposed, reshaped or broadcast.
// CHECK-LABEL: func @moved
// CHECK: %[[T:.*]] = graph.transpose %arg1 [1, 0] : tensor<8x32xui8> -> tensor<32x8xui8>
// CHECK: graph.contract %{{.*}}, %[[T]] {{.*}} : tensor<4x32xi8>, tensor<32x8xui8> -> tensor<4x8xi32>
// CHECK: graph.contract {{.*}} : tensor<2x4x32xi8>, tensor<2x8x32xui8> -> tensor<2x4x8xi32>
// CHECK-NOT: tensor<8x32xi32>
func.func @moved(%a: tensor<2x2x32xi8>, %b: tensor<8x32xui8>, %c: tensor<2x4x32xi8>) -> (tensor<4x8xi32>, tensor<2x4x8xi32>) {
  %a32 = graph.cast %a : tensor<2x2x32xi8> -> tensor<2x2x32xi32>
  %flat = graph.reshape %a32 : tensor<2x2x32xi32> -> tensor<4x32xi32>
  %b32 = graph.cast %b : tensor<8x32xui8> -> tensor<8x32xi32>
  %t = graph.transpose %b32 [1, 0] : tensor<8x32xi32> -> tensor<32x8xi32>
  %r0 = graph.contract %flat, %t batch [] x [] contract [1] x [0] : tensor<4x32xi32>, tensor<32x8xi32> -> tensor<4x8xi32>
  %c32 = graph.cast %c : tensor<2x4x32xi8> -> tensor<2x4x32xi32>
  %spread = graph.broadcast %b32 [1, 2] : tensor<8x32xi32> -> tensor<2x8x32xi32>
  %r1 = graph.contract %c32, %spread batch [0] x [0] contract [2] x [2] : tensor<2x4x32xi32>, tensor<2x8x32xi32> -> tensor<2x4x8xi32>
  return %r0, %r1 : tensor<4x8xi32>, tensor<2x4x8xi32>
}
