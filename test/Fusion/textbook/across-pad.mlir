// A padded producer; the border is a select, no memory is read for it.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.pad
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
func.func @f(%x: tensor<64x97xf32>, %y: tensor<66x100xf32>) -> tensor<66x100xf32> {
  %p = graph.exp %x : tensor<64x97xf32>
  %v = graph.constant dense<-1.0> : tensor<f32>
  %m = graph.pad %p, %v low [1, 3] high [1, 0] : tensor<64x97xf32>, tensor<f32> -> tensor<66x100xf32>
  %r = graph.mul %m, %y : tensor<66x100xf32>
  return %r : tensor<66x100xf32>
}
