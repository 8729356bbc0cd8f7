// Only the elements that a slice keeps are computed.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.slice
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
func.func @f(%x: tensor<64x100xf32>, %y: tensor<32x50xf32>) -> tensor<32x50xf32> {
  %p = graph.exp %x : tensor<64x100xf32>
  %m = graph.slice %p offsets [63, 1] strides [-2, 2] : tensor<64x100xf32> -> tensor<32x50xf32>
  %r = graph.mul %m, %y : tensor<32x50xf32>
  return %r : tensor<32x50xf32>
}
