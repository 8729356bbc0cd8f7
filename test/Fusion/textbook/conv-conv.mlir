// Two 3x3 convolutions with few channels: one kernel; the second one reads a
// tile with halo of the first from shared memory.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion
// CHECK-COUNT-2: graph.convolution
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE: tile.kernel
// TILE: tile.alloc : memref<{{.*}}xf32, 3
// TILE: tile.barrier
// TILE-NOT: tile.kernel
func.func @f(%x: tensor<1x3x256x256xf32>, %w: tensor<4x3x3x3xf32>, %v: tensor<4x4x3x3xf32>) -> tensor<1x4x256x256xf32> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<1x3x256x256xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x256x256xf32>
  %z = graph.convolution %y, %v strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<1x4x256x256xf32>, tensor<4x4x3x3xf32> -> tensor<1x4x256x256xf32>
  return %z : tensor<1x4x256x256xf32>
}
