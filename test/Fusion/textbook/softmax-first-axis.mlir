// Softmax along the first axis, the columns of a matrix: one kernel.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion{{.*}} : (tensor<300x1024xf32>) -> tensor<300x1024xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-COUNT-2: tile.reduce
// TILE-NOT: tile.reduce
// TILE-COUNT-1: tile.store
// TILE-NOT: tile.store
func.func @f(%x: tensor<300x1024xf32>) -> tensor<300x1024xf32> {
  %r = graph.softmax %x [0] : tensor<300x1024xf32>
  return %r : tensor<300x1024xf32>
}
