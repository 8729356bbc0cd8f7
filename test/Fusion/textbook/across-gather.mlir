// The producer of a gathered table and of its indices are computed at the gathered places.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.gather
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
func.func @f(%x: tensor<64x100xf32>, %i: tensor<32xi64>, %y: tensor<32x100xf32>) -> tensor<32x100xf32> {
  %p = graph.exp %x : tensor<64x100xf32>
  %one = graph.constant dense<1> : tensor<32xi64>
  %j = graph.sub %i, %one : tensor<32xi64>
  %m = graph.gather %p, %j axis = 0 : tensor<64x100xf32>, tensor<32xi64> -> tensor<32x100xf32>
  %r = graph.mul %m, %y : tensor<32x100xf32>
  return %r : tensor<32x100xf32>
}
