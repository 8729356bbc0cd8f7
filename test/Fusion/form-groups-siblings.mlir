// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Independent readers of one input: read once, three outputs.
// WHY: pointwise kernel of 3 ops, 1 inputs, 3 outputs
// CHECK-LABEL: func @siblings
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @siblings(%x: tensor<1000x10xf32>) -> (tensor<1000x10xf32>, tensor<10x1000xf32>, tensor<10000xf32>) {
  %a = graph.exp %x : tensor<1000x10xf32>
  %b = graph.transpose %x [1, 0] : tensor<1000x10xf32> -> tensor<10x1000xf32>
  %c = graph.reshape %x : tensor<1000x10xf32> -> tensor<10000xf32>
  return %a, %b, %c : tensor<1000x10xf32>, tensor<10x1000xf32>, tensor<10000xf32>
}

// -----

// Two reductions of one input share their loops.
// WHY: row kernel of 3 ops, 1 inputs, 2 outputs
// CHECK-LABEL: func @two_sums
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @two_sums(%x: tensor<64x1000xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = graph.reduce sum %x [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %q = graph.mul %x, %x : tensor<64x1000xf32>
  %b = graph.reduce sum %q [1] : tensor<64x1000xf32> -> tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// -----

// A broadcast bias with two users in different kernels is computed in both
// rather than stored.
// CHECK-LABEL: func @shared_bias
// CHECK: graph.fusion(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (tensor<32000xf32>, tensor<64x32000xf32>) -> tensor<64xf32>
// CHECK: graph.fusion(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (tensor<32000xf32>, tensor<64x32000xf32>) -> tensor<32000xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @shared_bias(%x: tensor<64x32000xf32>, %y: tensor<64x32000xf32>, %b: tensor<32000xf32>) -> (tensor<64xf32>, tensor<32000xf32>) {
  %bb = graph.broadcast %b [1] : tensor<32000xf32> -> tensor<64x32000xf32>
  %p = graph.add %x, %bb : tensor<64x32000xf32>
  %q = graph.add %y, %bb : tensor<64x32000xf32>
  %r = graph.reduce sum %p [1] : tensor<64x32000xf32> -> tensor<64xf32>
  %c = graph.reduce sum %q [0] : tensor<64x32000xf32> -> tensor<32000xf32>
  return %r, %c : tensor<64xf32>, tensor<32000xf32>
}

// -----

// Movement into and out of element-wise ops, concatenation and padding.
// WHY: pointwise kernel of 7 ops, 4 inputs, 1 outputs
// CHECK-LABEL: func @movement
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @movement(%x: tensor<16x32xf32>, %y: tensor<48x16xf32>, %i: tensor<4xi32>, %z: tensor<64x20xf32>) -> tensor<4x22xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %a = graph.exp %x : tensor<16x32xf32>
  %r = graph.reshape %a : tensor<16x32xf32> -> tensor<32x16xf32>
  %c = graph.concat %r, %y axis = 0 : tensor<32x16xf32>, tensor<48x16xf32> -> tensor<80x16xf32>
  %s = graph.slice %c offsets [10, 0] strides [1, 1] : tensor<80x16xf32> -> tensor<64x16xf32>
  %w = graph.concat %s, %z axis = 1 : tensor<64x16xf32>, tensor<64x20xf32> -> tensor<64x36xf32>
  %g = graph.gather %w, %i axis = 0 : tensor<64x36xf32>, tensor<4xi32> -> tensor<4x36xf32>
  %o = graph.slice %g offsets [0, 35] strides [1, -1] : tensor<4x36xf32> -> tensor<4x22xf32>
  return %o : tensor<4x22xf32>
}
