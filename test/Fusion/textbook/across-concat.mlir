// Both producers of a concatenation and its consumer; each reads its input only where it has elements.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.concat
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
func.func @f(%x: tensor<64x40xf32>, %y: tensor<64x60xf32>, %z: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %p = graph.exp %x : tensor<64x40xf32>
  %q = graph.tanh %y : tensor<64x60xf32>
  %m = graph.concat %p, %q axis = 1 : tensor<64x40xf32>, tensor<64x60xf32> -> tensor<64x100xf32>
  %r = graph.mul %m, %z : tensor<64x100xf32>
  return %r : tensor<64x100xf32>
}
