// A transpose between producer and consumer is index arithmetic.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.transpose
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
func.func @f(%x: tensor<64x100xf32>, %y: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %p = graph.exp %x : tensor<64x100xf32>
  %m = graph.transpose %p [1, 0] : tensor<64x100xf32> -> tensor<100x64xf32>
  %r = graph.mul %m, %y : tensor<100x64xf32>
  return %r : tensor<100x64xf32>
}
