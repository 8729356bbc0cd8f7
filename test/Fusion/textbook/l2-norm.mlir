// The L2 norm of rows: one kernel that stores one number a row. The squares
// live in registers; no tensor of their size exists.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion{{.*}} : (tensor<512x4096xf32>) -> tensor<512xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=MEMORY
// MEMORY: 0 B workspace
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE: tile.load
// TILE: arith.mulf
// TILE: tile.reduce
// TILE: math.sqrt
// TILE-COUNT-1: tile.store {{.*}}tensor<{{[0-9]+}}x1xf32
// TILE-NOT: tile.store
func.func @f(%x: tensor<512x4096xf32>) -> tensor<512xf32> {
  %q = graph.mul %x, %x : tensor<512x4096xf32>
  %s = graph.reduce sum %q [1] : tensor<512x4096xf32> -> tensor<512xf32>
  %r = graph.sqrt %s : tensor<512xf32>
  return %r : tensor<512xf32>
}
