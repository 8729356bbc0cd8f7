// RMS normalisation: one kernel that reads the row once.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-COUNT-1: tile.reduce
// TILE-NOT: tile.reduce
// TILE-COUNT-1: tile.store
// TILE-NOT: tile.store
func.func @f(%x: tensor<512x768xbf16>, %g: tensor<768xbf16>) -> tensor<512x768xbf16> {
  %r = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : tensor<512x768xbf16>, tensor<768xbf16>
  return %r : tensor<512x768xbf16>
}
