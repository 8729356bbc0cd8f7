// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups horizontal" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions horizontal" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Small unrelated kernels of different shapes share one launch.
// WHY: multi kernel of 4 ops, 3 inputs, 3 outputs
// CHECK-LABEL: func @side_by_side
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @side_by_side(%x: tensor<100xf32>, %y: tensor<30x7xf32>, %z: tensor<5xf32>) -> (tensor<100xf32>, tensor<30xf32>, tensor<5xf32>) {
  %a = graph.exp %x : tensor<100xf32>
  %n = graph.neg %y : tensor<30x7xf32>
  %b = graph.reduce sum %n [1] : tensor<30x7xf32> -> tensor<30xf32>
  %c = graph.exp %z : tensor<5xf32>
  return %a, %b, %c : tensor<100xf32>, tensor<30xf32>, tensor<5xf32>
}

// -----

// A consumer cannot share the launch of its producer, and large kernels gain
// nothing.
// WHY-COUNT-3: {{row|pointwise}} kernel
// CHECK-LABEL: func @dependent
// CHECK-COUNT-3: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @dependent(%x: tensor<100x10xf32>, %y: tensor<1000x1000xf32>) -> (tensor<10xf32>, tensor<1000x1000xf32>) {
  %a = graph.reduce sum %x [1] : tensor<100x10xf32> -> tensor<100xf32>
  %g = graph.reshape %a : tensor<100xf32> -> tensor<10x10xf32>
  %b = graph.reduce max %g [0] : tensor<10x10xf32> -> tensor<10xf32>
  %c = graph.exp %y : tensor<1000x1000xf32>
  return %b, %c : tensor<10xf32>, tensor<1000x1000xf32>
}
