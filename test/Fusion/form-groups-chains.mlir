// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups horizontal" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions horizontal" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Three tiny kernels in a row are steps of one launch, whose only result is
// what others read.
// WHY: chain kernel of 5 ops, 1 inputs, 1 outputs
// CHECK-LABEL: func @three
// CHECK: %[[C:.*]] = graph.fusion(%[[X:.*]] = %{{.*}}) : (tensor<64x32xf32>) -> tensor<4xf32> {
// CHECK: %[[A:.*]] = graph.fusion(%{{.*}} = %[[X]])
// CHECK: %[[B:.*]] = graph.fusion(%{{.*}} = %[[A]])
// CHECK: %[[D:.*]] = graph.fusion(%{{.*}} = %[[B]])
// CHECK: graph.yield %[[D]]
// CHECK: return %[[C]]
func.func @three(%x: tensor<64x32xf32>) -> tensor<4xf32> {
  %a = graph.reduce sum %x [1] : tensor<64x32xf32> -> tensor<64xf32>
  %b = graph.reshape %a : tensor<64xf32> -> tensor<8x8xf32>
  %c = graph.reduce max %b [0] : tensor<8x8xf32> -> tensor<8xf32>
  %d = graph.reshape %c : tensor<8xf32> -> tensor<4x2xf32>
  %e = graph.reduce sum %d [1] : tensor<4x2xf32> -> tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// Two gain one launch only.
// CHECK-LABEL: func @two
// CHECK: graph.fusion
// CHECK: graph.reduce
// CHECK: graph.fusion
// CHECK: return
// WHY: row kernel
// WHY: row kernel
func.func @two(%x: tensor<64x32xf32>) -> tensor<8xf32> {
  %a = graph.reduce sum %x [1] : tensor<64x32xf32> -> tensor<64xf32>
  %b = graph.reshape %a : tensor<64xf32> -> tensor<8x8xf32>
  %c = graph.reduce max %b [0] : tensor<8x8xf32> -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// A large kernel has the whole machine: the tiny ones behind it are a chain.
// WHY: row kernel of 2 ops
// WHY: chain kernel of 5 ops
// CHECK-LABEL: func @large
// CHECK: %[[L:.*]] = graph.fusion(%{{.*}} = %{{.*}}) : (tensor<4096x4096xf32>) -> tensor<64x64xf32> {
// CHECK: graph.fusion(%{{.*}} = %[[L]]) : (tensor<64x64xf32>) -> tensor<2xf32> {
func.func @large(%x: tensor<4096x4096xf32>) -> tensor<2xf32> {
  %a = graph.reduce sum %x [1] : tensor<4096x4096xf32> -> tensor<4096xf32>
  %b = graph.reshape %a : tensor<4096xf32> -> tensor<64x64xf32>
  %c = graph.reduce max %b [0] : tensor<64x64xf32> -> tensor<64xf32>
  %d = graph.reshape %c : tensor<64xf32> -> tensor<8x8xf32>
  %e = graph.reduce sum %d [1] : tensor<8x8xf32> -> tensor<8xf32>
  %f = graph.reshape %e : tensor<8xf32> -> tensor<2x4xf32>
  %g = graph.reduce max %f [1] : tensor<2x4xf32> -> tensor<2xf32>
  return %g : tensor<2xf32>
}
