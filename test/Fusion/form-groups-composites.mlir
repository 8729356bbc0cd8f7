// RUN: fusec-opt %s --split-input-file --fusec-graph-decompose-composites --canonicalize --cse --fusec-fusion-form-groups="verify-groups" | FileCheck %s

// What importers write: composites, decomposed and cleaned up first.

// CHECK-LABEL: func @softmax
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @softmax(%x: tensor<8x12x128x128xf16>) -> tensor<8x12x128x128xf16> {
  %r = graph.softmax %x [3] : tensor<8x12x128x128xf16>
  return %r : tensor<8x12x128x128xf16>
}

// -----

// CHECK-LABEL: func @norms
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @norms(%x: tensor<4x128x768xbf16>, %r: tensor<4x128x768xbf16>, %g: tensor<768xbf16>, %b: tensor<768xbf16>) -> (tensor<4x128x768xbf16>, tensor<4x128x768xbf16>) {
  %s = graph.add %x, %r : tensor<4x128x768xbf16>
  %y = graph.layer_norm %s, %g, %b axis = 2 epsilon = 1.0e-5 : tensor<4x128x768xbf16>, tensor<768xbf16>, tensor<768xbf16>
  return %s, %y : tensor<4x128x768xbf16>, tensor<4x128x768xbf16>
}

// -----

// CHECK-LABEL: func @batch_norm_gelu
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @batch_norm_gelu(%x: tensor<8x64x32x32xf32>, %s: tensor<64xf32>, %b: tensor<64xf32>, %m: tensor<64xf32>, %v: tensor<64xf32>) -> tensor<8x64x32x32xf32> {
  %y = graph.batch_norm %x, %s, %b, %m, %v channel = 1 epsilon = 1.0e-5 : tensor<8x64x32x32xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  %z = graph.gelu erf %y : tensor<8x64x32x32xf32>
  return %z : tensor<8x64x32x32xf32>
}
