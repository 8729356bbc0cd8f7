// An element-wise loop and a reduction of its result: one kernel stores both,
// and computes the exponential once.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion{{.*}} -> (tensor<64x1000xf32>, tensor<64xf32>)
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-COUNT-1: math.exp
// TILE-NOT: math.exp
// TILE: tile.reduce
func.func @f(%x: tensor<64x1000xf32>) -> (tensor<64x1000xf32>, tensor<64xf32>) {
  %e = graph.exp %x : tensor<64x1000xf32>
  %s = graph.reduce sum %e [1] : tensor<64x1000xf32> -> tensor<64xf32>
  return %e, %s : tensor<64x1000xf32>, tensor<64xf32>
}
