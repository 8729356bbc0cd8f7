// Softmax along a middle axis: one kernel, no transpose; lanes run along the last axis.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion{{.*}} : (tensor<8x300x64xf32>) -> tensor<8x300x64xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-COUNT-2: tile.reduce
// TILE-NOT: tile.reduce
// TILE-COUNT-1: tile.store
// TILE-NOT: tile.store
func.func @f(%x: tensor<8x300x64xf32>) -> tensor<8x300x64xf32> {
  %r = graph.softmax %x [1] : tensor<8x300x64xf32>
  return %r : tensor<8x300x64xf32>
}
