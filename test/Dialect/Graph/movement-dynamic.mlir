// RUN: fusec-opt %s --verify-roundtrip | FileCheck %s

// Dynamic sizes are carried along; they may lead a piece of a reshape.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?x4xf32>, %i: tensor<?xi64>) -> tensor<?x2x2xf32> {
  // CHECK: graph.transpose %{{.*}} [1, 0] : tensor<?x4xf32> -> tensor<4x?xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} axis = 0 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // CHECK: graph.gather %{{.*}}, %{{.*}} axis = 1 : tensor<?x4xf32>, tensor<?xi64> -> tensor<?x?xf32>
  // CHECK: graph.reshape %{{.*}} : tensor<?x4xf32> -> tensor<?x2x2xf32>
  %0 = graph.transpose %x [1, 0] : tensor<?x4xf32> -> tensor<4x?xf32>
  %1 = graph.concat %x, %x axis = 0 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %2 = graph.gather %x, %i axis = 1 : tensor<?x4xf32>, tensor<?xi64> -> tensor<?x?xf32>
  %3 = graph.reshape %x : tensor<?x4xf32> -> tensor<?x2x2xf32>
  return %3 : tensor<?x2x2xf32>
}
