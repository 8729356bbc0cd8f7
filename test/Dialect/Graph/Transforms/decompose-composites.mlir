// RUN: fusec-opt %s --fusec-graph-decompose-composites | FileCheck %s
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize --cse -o /dev/null

// CHECK-LABEL: func @activations
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi8>
// CHECK-NOT: graph.{{relu|leaky_relu|gelu|silu|softplus|elu|hard_sigmoid}}
func.func @activations(%x: tensor<4xf32>, %i: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[ZERO:.*]] = graph.constant dense<0> : tensor<4xi8>
  // CHECK: graph.max %[[I]], %[[ZERO]] : tensor<4xi8>
  %0 = graph.relu %i : tensor<4xi8>
  // The kept side is x >= 0, so -0 and +0 stay as they are.
  // CHECK: %[[SCALED:.*]] = graph.mul %{{.*}}, %[[X]]
  // CHECK: %[[KEEP:.*]] = graph.compare ge %[[X]]
  // CHECK: graph.select %[[KEEP]], %[[X]], %[[SCALED]]
  %1 = graph.leaky_relu %x {alpha = 0.01 : f64} : tensor<4xf32>
  // CHECK: graph.erf
  %2 = graph.gelu erf %x : tensor<4xf32>
  // CHECK: graph.tanh
  %3 = graph.gelu tanh %x : tensor<4xf32>
  // CHECK: %[[L:.*]] = graph.logistic %[[X]]
  // CHECK: graph.mul %[[X]], %[[L]]
  %4 = graph.silu %x : tensor<4xf32>
  // CHECK: graph.abs
  // CHECK: graph.neg
  // CHECK: graph.exp
  // CHECK: graph.log1p
  %5 = graph.softplus %x : tensor<4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4xi8>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @softmax
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @softmax(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK: %[[M:.*]] = graph.reduce max %[[X]] [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>
  // CHECK: %[[B:.*]] = graph.broadcast %[[M]] [0, 2]
  // CHECK: %[[C:.*]] = graph.sub %[[X]], %[[B]]
  // CHECK: %[[E:.*]] = graph.exp %[[C]]
  // CHECK: %[[S:.*]] = graph.reduce sum %[[E]] [1]
  // CHECK: %[[D:.*]] = graph.broadcast %[[S]] [0, 2]
  // CHECK: graph.div %[[E]], %[[D]]
  %0 = graph.softmax %x [1] : tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// Half precision is cast once at the start and once at the end.
// CHECK-LABEL: func @layer_norm
func.func @layer_norm(%x: tensor<8x64xf16>, %s: tensor<64xf16>) -> tensor<8x64xf16> {
  // CHECK: graph.cast %{{.*}} : tensor<8x64xf16> -> tensor<8x64xf32>
  // CHECK: graph.constant dense<6.400000e+01> : tensor<8xf32>
  // CHECK: graph.rsqrt %{{.*}} : tensor<8xf32>
  // CHECK: graph.cast %{{.*}} : tensor<64xf16> -> tensor<64xf32>
  // CHECK-NOT: graph.cast
  // CHECK: %[[R:.*]] = graph.cast %{{.*}} : tensor<8x64xf32> -> tensor<8x64xf16>
  // CHECK-NEXT: return %[[R]]
  %0 = graph.layer_norm %x, %s axis = 1 epsilon = 1.0e-5 : tensor<8x64xf16>, tensor<64xf16>
  return %0 : tensor<8x64xf16>
}

// Composites are found in regions; a dynamic size takes scalar constants.
// CHECK-LABEL: func @nested
func.func @nested(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: graph.fusion
  // CHECK: %[[Z:.*]] = graph.constant dense<0.000000e+00> : tensor<f32>
  // CHECK: %[[B:.*]] = graph.broadcast %[[Z]] [] : tensor<f32> -> tensor<?xf32>
  // CHECK: graph.max %{{.*}}, %[[B]]
  %0 = graph.fusion(%a = %x) : (tensor<?xf32>) -> tensor<?xf32> {
    %r = graph.relu %a : tensor<?xf32>
    graph.yield %r : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func @batch_norm
func.func @batch_norm(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>) -> tensor<2x3x4xf32> {
  // CHECK: %[[F:.*]] = graph.div %{{.*}} : tensor<3xf32>
  // CHECK: graph.broadcast %[[F]] [1] : tensor<3xf32> -> tensor<2x3x4xf32>
  %0 = graph.batch_norm %x, %c, %c, %c, %c channel = 1 epsilon = 1.0e-5 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  return %0 : tensor<2x3x4xf32>
}
