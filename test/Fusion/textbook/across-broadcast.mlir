// A producer of a row is computed where each element reads it.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.broadcast
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
func.func @f(%x: tensor<64x1000xf32>, %b: tensor<1000xf32>) -> tensor<64x1000xf32> {
  %p = graph.exp %b : tensor<1000xf32>
  %m = graph.broadcast %p [1] : tensor<1000xf32> -> tensor<64x1000xf32>
  %r = graph.mul %x, %m : tensor<64x1000xf32>
  return %r : tensor<64x1000xf32>
}
