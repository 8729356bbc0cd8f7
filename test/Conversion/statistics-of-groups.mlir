// GroupNorm with the channels last: runs of 10 channels are 20 bytes, so threads
// have vectors of all 320 channels, and a group's channels meet in shared
// memory. Sixteen blocks share an image and keep all of their pixels.
// RUN: fusec compile %s --emit=fused | FileCheck %s --check-prefix=FUSED
// RUN: fusec compile %s --emit=tile | FileCheck %s
// RUN: fusec explain %s | FileCheck %s --check-prefix=WHY
// FUSED-COUNT-1: graph.fusion
// FUSED-NOT: graph.fusion
// CHECK: tile.kernel {{.*}}grid = array<i64: 128, 1, 1>{{.*}}threads = 640
// CHECK: lane = [16:4:0, 2:1:1], warp = [4:2:1, 5:64:0]
// CHECK: scf.for
// CHECK: tile.load %{{[^ ]*}} {vector = 4 : i64} : memref<?xbf16>
// CHECK: tile.store {{.*}} {vector = 4 : i64} {{.*}}memref<{{[0-9]+}}xbf16, 3>
// Pixels of the block, then ten channels of each of 32 groups.
// CHECK: tile.reduce {{.*}} axes [1]
// CHECK: tile.store {{.*}}memref<320xf32, 3>
// CHECK: tile.barrier
// CHECK: tile.load {{.*}}memref<320xf32, 3>
// CHECK: tile.reduce {{.*}} axes [1]
// CHECK: tile.store {{.*}}memref<?xf32>
// CHECK: tile.grid_barrier %{{.*}} resident 1
// CHECK: tile.reduce {{.*}} axes [1]
// CHECK: tile.barrier
// The input is read once.
// CHECK-NOT: tile.load {{.*}} : memref<?xbf16>
// CHECK: tile.load %{{.*}} {vector = 4 : i64} : memref<{{[0-9]+}}xbf16, 3>
// CHECK: tile.store {{.*}} {vector = 4 : i64}
// WHY: parts of 16 blocks, which meet before elements are stored, kept as far as they fit
func.func @main(%x: tensor<8x64x64x320xbf16>, %gamma: tensor<320xf32>, %beta: tensor<320xf32>) -> tensor<8x64x64x320xbf16> {
  %w = graph.cast %x : tensor<8x64x64x320xbf16> -> tensor<8x64x64x320xf32>
  %v = graph.reshape %w : tensor<8x64x64x320xf32> -> tensor<8x4096x32x10xf32>
  %s = graph.reduce sum %v [1, 3] : tensor<8x4096x32x10xf32> -> tensor<8x32xf32>
  %n = graph.constant dense<40960.0> : tensor<8x32xf32>
  %m = graph.div %s, %n : tensor<8x32xf32>
  %mb = graph.broadcast %m [0, 2] : tensor<8x32xf32> -> tensor<8x4096x32x10xf32>
  %d = graph.sub %v, %mb : tensor<8x4096x32x10xf32>
  %q = graph.mul %d, %d : tensor<8x4096x32x10xf32>
  %t = graph.reduce sum %q [1, 3] : tensor<8x4096x32x10xf32> -> tensor<8x32xf32>
  %var = graph.div %t, %n : tensor<8x32xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<8x32xf32>
  %ve = graph.add %var, %eps : tensor<8x32xf32>
  %r = graph.rsqrt %ve : tensor<8x32xf32>
  %rb = graph.broadcast %r [0, 2] : tensor<8x32xf32> -> tensor<8x4096x32x10xf32>
  %y = graph.mul %d, %rb : tensor<8x4096x32x10xf32>
  %z = graph.reshape %y : tensor<8x4096x32x10xf32> -> tensor<8x64x64x320xf32>
  %g = graph.broadcast %gamma [3] : tensor<320xf32> -> tensor<8x64x64x320xf32>
  %b = graph.broadcast %beta [3] : tensor<320xf32> -> tensor<8x64x64x320xf32>
  %zg = graph.mul %z, %g : tensor<8x64x64x320xf32>
  %zb = graph.add %zg, %b : tensor<8x64x64x320xf32>
  %sl = graph.silu %zb : tensor<8x64x64x320xf32>
  %o = graph.cast %sl : tensor<8x64x64x320xf32> -> tensor<8x64x64x320xbf16>
  return %o : tensor<8x64x64x320xbf16>
}
