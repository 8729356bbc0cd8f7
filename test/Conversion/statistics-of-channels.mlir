// Mean, squares and elements of few columns in one kernel: vectors along the
// channels, the other lanes along the pixels. Blocks reduce their shares in one
// pass, keep the first part of them in shared memory, meet at a barrier of the
// grid, combine and read the share again: what was not kept backwards, then
// what was.
// RUN: fusec compile %s --emit=fused | FileCheck %s --check-prefix=FUSED
// RUN: fusec compile %s --emit=tile | FileCheck %s
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=TEXT
// FUSED-COUNT-1: graph.fusion
// FUSED-NOT: graph.fusion
// CHECK: tile.kernel {{.*}}grid = array<i64: 132, 1, 1>{{.*}}threads = 1024
// CHECK: lane = [16:4:0, 2:1:1]
// What is kept, what is not, and what is less than an iteration.
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {vector = 4 : i64} : memref<?xbf16>
// CHECK: tile.store {{.*}} {vector = 4 : i64} {{.*}}memref<{{[0-9]+}}xbf16, 3>
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {vector = 4 : i64} : memref<?xbf16>
// CHECK-NOT: memref<{{[0-9]+}}xbf16, 3>
// CHECK: tile.grid_barrier %{{.*}} resident 1
// CHECK: scf.for
// CHECK: tile.load {{.*}} : memref<?xf32>
// CHECK: tile.reduce
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {vector = 4 : i64} : memref<?xbf16>
// CHECK: tile.store {{.*}} {vector = 4 : i64}
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {vector = 4 : i64} : memref<{{[0-9]+}}xbf16, 3>
// CHECK-NOT: tile.load {{.*}} : memref<?xbf16>
// CHECK: tile.store {{.*}} {vector = 4 : i64}
// TEXT: FUSEC_KERNEL_GRID(k_{{[0-9a-f]+}}, 1024, 1)
// TEXT-COUNT-1: grid_sync(
// TEXT-NOT: grid_sync(
func.func @main(%x: tensor<128x56x56x64xbf16>) -> (tensor<128x56x56x64xbf16>, tensor<64xf32>) {
  %w = graph.cast %x : tensor<128x56x56x64xbf16> -> tensor<128x56x56x64xf32>
  %s = graph.reduce sum %w [0, 1, 2] : tensor<128x56x56x64xf32> -> tensor<64xf32>
  %n = graph.constant dense<401408.0> : tensor<64xf32>
  %m = graph.div %s, %n : tensor<64xf32>
  %mb = graph.broadcast %m [3] : tensor<64xf32> -> tensor<128x56x56x64xf32>
  %d = graph.sub %w, %mb : tensor<128x56x56x64xf32>
  %q = graph.mul %d, %d : tensor<128x56x56x64xf32>
  %t = graph.reduce sum %q [0, 1, 2] : tensor<128x56x56x64xf32> -> tensor<64xf32>
  %v = graph.div %t, %n : tensor<64xf32>
  %r = graph.rsqrt %v : tensor<64xf32>
  %rb = graph.broadcast %r [3] : tensor<64xf32> -> tensor<128x56x56x64xf32>
  %z = graph.mul %d, %rb : tensor<128x56x56x64xf32>
  %p = graph.relu %z : tensor<128x56x56x64xf32>
  %y = graph.cast %p : tensor<128x56x56x64xf32> -> tensor<128x56x56x64xbf16>
  return %y, %v : tensor<128x56x56x64xbf16>, tensor<64xf32>
}
