// Three stencils in a row with element-wise ops between: one kernel that keeps
// rows in registers.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion
// CHECK-COUNT-3: graph.window_reduce
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-NOT: tile.alloc
// TILE: tile.shift
// TILE-NOT: tile.alloc
func.func @f(%x: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %c = graph.constant dense<0.111111111> : tensor<2048x2048xf32>
  %a = graph.window_reduce sum %x window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  %a1 = graph.mul %a, %c : tensor<2048x2048xf32>
  %b = graph.window_reduce sum %a1 window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  %b1 = graph.mul %b, %c : tensor<2048x2048xf32>
  %d = graph.window_reduce max %b1 window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  return %d : tensor<2048x2048xf32>
}
