// A depthwise convolution over an image with channels last and a norm over
// them: one kernel, whose blocks hold all channels of a strip and hand rows of
// results on through shared memory.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion
// CHECK: graph.convolution
// CHECK-COUNT-2: graph.reduce
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// Rows are walked one by one; sums of seven rows are carried.
// TILE: tile.alloc : memref<5376xf32, 3>
// TILE: scf.for
// TILE: tile.store {{.*}}memref<5376xf32, 3>
// TILE: tile.barrier
// TILE: scf.for
// TILE: tile.load {{.*}}memref<5376xf32, 3>
// TILE: tile.reduce
// TILE: tile.reduce
// TILE: tile.store
// TILE: tile.barrier
func.func @f(%x: tensor<128x56x56x96xbf16>, %k: tensor<7x7x1x96xbf16>, %g: tensor<96xbf16>, %b: tensor<96xbf16>) -> tensor<128x56x56x96xbf16> {
  %0 = graph.convolution %x, %k strides [1, 1] dilations [1, 1] low [3, 3] high [3, 3]
      dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = 96
      : tensor<128x56x56x96xbf16>, tensor<7x7x1x96xbf16> -> tensor<128x56x56x96xbf16>
  %1 = graph.layer_norm %0, %g, %b axis = 3 epsilon = 1.0e-5
      : tensor<128x56x56x96xbf16>, tensor<96xbf16>, tensor<96xbf16>
  return %1 : tensor<128x56x56x96xbf16>
}
