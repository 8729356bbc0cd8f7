// RUN: fusec-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @identities
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[V:.*]]: tensor<f32>
func.func @identities(%x: tensor<2x3xf32>, %v: tensor<f32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = graph.reshape %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.transpose %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.slice %x offsets [0, 0] strides [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.pad %x, %v low [0, 0] high [0, 0] : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %4 = graph.concat %x axis = 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = graph.broadcast %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  return %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// Equal types are not enough: these move elements.
// CHECK-LABEL: func @not_identities
func.func @not_identities(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  // CHECK: graph.transpose
  // CHECK: graph.slice
  %0 = graph.transpose %x [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  %1 = graph.slice %x offsets [0, 2] strides [1, -1] : tensor<3x3xf32> -> tensor<3x3xf32>
  return %0, %1 : tensor<3x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func @reshapes
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32>
func.func @reshapes(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<2x6xf32>) {
  // CHECK: %[[R:.*]] = graph.reshape %[[X]] : tensor<2x6xf32> -> tensor<3x4xf32>
  %0 = graph.reshape %x : tensor<2x6xf32> -> tensor<12xf32>
  %1 = graph.reshape %0 : tensor<12xf32> -> tensor<3x4xf32>
  %2 = graph.reshape %1 : tensor<3x4xf32> -> tensor<2x6xf32>
  // CHECK: return %[[R]], %[[X]]
  return %1, %2 : tensor<3x4xf32>, tensor<2x6xf32>
}

// CHECK-LABEL: func @transposes
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  // CHECK: %[[T:.*]] = graph.transpose %[[X]] [2, 0, 1]
  %0 = graph.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %1 = graph.transpose %0 [1, 0, 2] : tensor<2x4x3xf32> -> tensor<4x2x3xf32>
  %2 = graph.transpose %1 [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  // CHECK: return %[[T]], %[[X]]
  return %1, %2 : tensor<4x2x3xf32>, tensor<2x3x4xf32>
}

// Broadcasts compose, also through dimensions of size 1 that a reshape adds;
// one that repeats nothing is a reshape.
// CHECK-LABEL: func @broadcasts
// CHECK-SAME: %[[X:.*]]: tensor<3xf32>
func.func @broadcasts(%x: tensor<3xf32>) -> (tensor<5x2x3xf32>, tensor<2x3x4xf32>, tensor<1x3x1xf32>) {
  // CHECK-DAG: %[[A:.*]] = graph.broadcast %[[X]] [2] : tensor<3xf32> -> tensor<5x2x3xf32>
  %0 = graph.broadcast %x [1] : tensor<3xf32> -> tensor<2x3xf32>
  %1 = graph.broadcast %0 [1, 2] : tensor<2x3xf32> -> tensor<5x2x3xf32>
  // CHECK-DAG: %[[B:.*]] = graph.broadcast %[[X]] [1] : tensor<3xf32> -> tensor<2x3x4xf32>
  %2 = graph.reshape %x : tensor<3xf32> -> tensor<3x1xf32>
  %3 = graph.broadcast %2 [1, 2] : tensor<3x1xf32> -> tensor<2x3x4xf32>
  // CHECK-DAG: %[[C:.*]] = graph.reshape %[[X]] : tensor<3xf32> -> tensor<1x3x1xf32>
  %4 = graph.broadcast %x [1] : tensor<3xf32> -> tensor<1x3x1xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]]
  return %1, %3, %4 : tensor<5x2x3xf32>, tensor<2x3x4xf32>, tensor<1x3x1xf32>
}

// CHECK-LABEL: func @slices
// CHECK-SAME: %[[X:.*]]: tensor<20xf32>
func.func @slices(%x: tensor<20xf32>) -> tensor<3xf32> {
  // CHECK: %[[S:.*]] = graph.slice %[[X]] offsets [17] strides [-4] : tensor<20xf32> -> tensor<3xf32>
  %0 = graph.slice %x offsets [19] strides [-2] : tensor<20xf32> -> tensor<10xf32>
  %1 = graph.slice %0 offsets [1] strides [2] : tensor<10xf32> -> tensor<3xf32>
  // CHECK: return %[[S]]
  return %1 : tensor<3xf32>
}

// Joins on one axis are flattened and empty inputs dropped.
// CHECK-LABEL: func @concats
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<3xf32>, %[[E:.*]]: tensor<0xf32>
func.func @concats(%x: tensor<2xf32>, %y: tensor<3xf32>, %e: tensor<0xf32>) -> (tensor<7xf32>, tensor<2xf32>, tensor<0xf32>) {
  // CHECK: %[[C:.*]] = graph.concat %[[X]], %[[X]], %[[Y]] axis = 0
  %0 = graph.concat %x, %y axis = 0 : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  %1 = graph.concat %x, %0 axis = 0 : tensor<2xf32>, tensor<5xf32> -> tensor<7xf32>
  %2 = graph.concat %x, %e axis = 0 : tensor<2xf32>, tensor<0xf32> -> tensor<2xf32>
  %3 = graph.concat %e, %e axis = 0 : tensor<0xf32>, tensor<0xf32> -> tensor<0xf32>
  // CHECK: return %[[C]], %[[X]], %[[E]]
  return %1, %2, %3 : tensor<7xf32>, tensor<2xf32>, tensor<0xf32>
}

// CHECK-LABEL: func @concats_across
func.func @concats_across(%x: tensor<2x2xf32>) -> tensor<4x4xf32> {
  // CHECK-COUNT-2: graph.concat
  %0 = graph.concat %x, %x axis = 0 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %1 = graph.concat %0, %0 axis = 1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
