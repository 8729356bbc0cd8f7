// A convolution, its bias and its relu are one kernel: the epilogue of the
// main loop adds and clamps, only the result is stored.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK:   graph.convolution
// CHECK:   graph.add
// CHECK:   graph.max
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-COUNT-1: tile.kernel
// TILE: tile.contract
// TILE: arith.addf
// TILE: arith.maximumf
// TILE-NOT: tile.kernel
func.func @f(%x: tensor<8x64x56x56xf16>, %w: tensor<64x64x3x3xf16>, %b: tensor<64xf16>) -> tensor<8x64x56x56xf16> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<8x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<8x64x56x56xf16>
  %bb = graph.broadcast %b [1] : tensor<64xf16> -> tensor<8x64x56x56xf16>
  %s = graph.add %y, %bb : tensor<8x64x56x56xf16>
  %r = graph.relu %s : tensor<8x64x56x56xf16>
  return %r : tensor<8x64x56x56xf16>
}
