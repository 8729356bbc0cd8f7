// RUN: fusec-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @nothing(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
func.func @nothing(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %0 = graph.reduce max %x [] : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.reduce sum %i [] : tensor<4xi32> -> tensor<4xi32>
  // A float sum starts at +0, so it is not the identity for -0.
  // CHECK: %[[S:.*]] = graph.reduce sum %[[X]] []
  %2 = graph.reduce sum %x [] : tensor<4xf32> -> tensor<4xf32>
  // CHECK: return %[[X]], %[[I]], %[[S]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}
