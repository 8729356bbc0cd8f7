// A reshape between producer and consumer is index arithmetic.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.reshape
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
func.func @f(%x: tensor<64x30xf32>, %y: tensor<32x60xf32>) -> tensor<32x60xf32> {
  %p = graph.exp %x : tensor<64x30xf32>
  %m = graph.reshape %p : tensor<64x30xf32> -> tensor<32x60xf32>
  %r = graph.mul %m, %y : tensor<32x60xf32>
  return %r : tensor<32x60xf32>
}
