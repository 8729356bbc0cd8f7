// RUN: fusec-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func @activations
func.func @activations(%x: tensor<4xf32>, %i: tensor<4xi8>) {
  // CHECK: graph.relu %{{.*}} : tensor<4xi8>
  %0 = graph.relu %i : tensor<4xi8>
  // CHECK: graph.leaky_relu %{{.*}} {alpha = 1.000000e-02 : f64} : tensor<4xf32>
  %1 = graph.leaky_relu %x {alpha = 0.01 : f64} : tensor<4xf32>
  // CHECK: graph.gelu erf %{{.*}} : tensor<4xf32>
  %2 = graph.gelu erf %x : tensor<4xf32>
  // CHECK: graph.gelu tanh %{{.*}} : tensor<4xf32>
  %3 = graph.gelu tanh %x : tensor<4xf32>
  // CHECK: graph.silu
  %4 = graph.silu %x : tensor<4xf32>
  // CHECK: graph.softplus
  %5 = graph.softplus %x : tensor<4xf32>
  // CHECK: graph.elu %{{.*}} {alpha = 1.000000e+00 : f64} : tensor<4xf32>
  %6 = graph.elu %x {alpha = 1.0 : f64} : tensor<4xf32>
  // CHECK: graph.hard_sigmoid
  %7 = graph.hard_sigmoid %x {alpha = 0.2 : f64, beta = 0.5 : f64} : tensor<4xf32>
  return
}

// CHECK-LABEL: func @normalisation
func.func @normalisation(%x: tensor<2x3x4xf16>, %s: tensor<3x4xf16>, %c: tensor<3xf32>) {
  // CHECK: graph.softmax %{{.*}} [0, 2] : tensor<2x3x4xf16>
  %0 = graph.softmax %x [0, 2] : tensor<2x3x4xf16>
  // CHECK: graph.log_softmax %{{.*}} [1] : tensor<2x3x4xf16>
  %1 = graph.log_softmax %x [1] : tensor<2x3x4xf16>
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}} axis = 1 epsilon = 1.000000e-05 : tensor<2x3x4xf16>, tensor<3x4xf16>
  %2 = graph.layer_norm %x, %s axis = 1 epsilon = 1.0e-5 : tensor<2x3x4xf16>, tensor<3x4xf16>
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}}, %{{.*}} axis = 1 epsilon = 1.000000e-05 : tensor<2x3x4xf16>, tensor<3x4xf16>, tensor<3x4xf16>
  %3 = graph.layer_norm %x, %s, %s axis = 1 epsilon = 1.0e-5 : tensor<2x3x4xf16>, tensor<3x4xf16>, tensor<3x4xf16>
  // CHECK: graph.rms_norm
  %4 = graph.rms_norm %x, %s axis = 1 epsilon = 1.0e-5 : tensor<2x3x4xf16>, tensor<3x4xf16>
  // CHECK: graph.batch_norm
  %5 = graph.batch_norm %x, %c, %c, %c, %c channel = 1 epsilon = 1.0e-5 : tensor<2x3x4xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  return
}
