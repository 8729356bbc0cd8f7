// Softmax along the last axis: one kernel; the row is read once and kept.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion{{.*}} : (tensor<128x1000xf32>) -> tensor<128x1000xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-COUNT-2: tile.reduce
// TILE-NOT: tile.reduce
// TILE-COUNT-1: tile.store
// TILE-NOT: tile.store
func.func @f(%x: tensor<128x1000xf32>) -> tensor<128x1000xf32> {
  %r = graph.softmax %x [1] : tensor<128x1000xf32>
  return %r : tensor<128x1000xf32>
}
