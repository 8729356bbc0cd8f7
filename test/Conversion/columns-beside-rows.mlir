// Column sums beside row sums: blocks that stay take rows in turn, which are
// copied to shared memory ahead, keep the columns' states in registers, meet at a barrier of
// the grid and each finish a slice of the columns.
// RUN: fusec compile %s --emit=tile | FileCheck %s
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=TEXT
// CHECK-COUNT-1: tile.kernel
// CHECK: %[[GRID:.*]] = tile.grid_size
// What is the same for all rows is loaded once; two rows are on their way.
// CHECK: tile.load %{{.*}} {vector = 8 : i64} : memref<?xbf16>
// CHECK-COUNT-2: tile.copy_commit
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[GRID]] iter_args
// CHECK-NEXT: tile.copy_wait 1
// CHECK: tile.load %{{.*}} {vector = 8 : i64} : memref<12288xbf16, 3>
// CHECK: tile.load %{{.*}} {vector = 8 : i64} : memref<12288xbf16, 3>
// CHECK: tile.copy %{{.*}} mask %{{.*}} {vector = 8 : i64}
// CHECK: tile.copy %{{.*}} mask %{{.*}} {vector = 8 : i64}
// CHECK-NEXT: tile.copy_commit
// Both row sums meet at once.
// CHECK: tile.reduce %{{.*}}, %{{.*}} axes [1]
// CHECK-NOT: tile.reduce
// CHECK: tile.store {{.*}} {vector = 8 : i64}
// CHECK: scf.yield
// CHECK: tile.store
// CHECK: tile.store
// CHECK: tile.grid_barrier %{{.*}} resident 2
// CHECK: scf.for %{{.*}} step %[[GRID]]
// CHECK: tile.reduce %{{.*}}, %{{.*}} axes [0]
// CHECK: tile.store
// CHECK: tile.store
// CHECK-NOT: tile.kernel
// The number of rows is an argument, the number of blocks the launch's.
// TEXT: FUSEC_KERNEL_GRID({{.*}}, 512, 2)({{.*}}i32 n0)
// TEXT: ncta_x()
// TEXT: cp_async16(
// TEXT-NOT: 16384
// Of eight columns of a thread the first four of all threads are neighbours in
// memory, then the others.
// TEXT: * 2048;
// TEXT: st<4>(p{{[0-9]+}},
// TEXT: grid_sync(p{{[0-9]+}}, 0);
// TEXT-NOT: 16384
// TEXT-NOT: FUSEC_KERNEL
func.func @main(%x: tensor<16384x4096xbf16>, %dy: tensor<16384x4096xbf16>, %gamma: tensor<4096xbf16>)
    -> (tensor<16384x4096xbf16>, tensor<4096xbf16>, tensor<4096xf32>) {
  %w = graph.cast %x : tensor<16384x4096xbf16> -> tensor<16384x4096xf32>
  %g = graph.cast %dy : tensor<16384x4096xbf16> -> tensor<16384x4096xf32>
  %s = graph.cast %gamma : tensor<4096xbf16> -> tensor<4096xf32>
  %sb = graph.broadcast %s [1] : tensor<4096xf32> -> tensor<16384x4096xf32>
  %wg = graph.mul %g, %sb : tensor<16384x4096xf32>
  %xw = graph.mul %w, %wg : tensor<16384x4096xf32>
  %r0 = graph.reduce sum %xw [1] : tensor<16384x4096xf32> -> tensor<16384xf32>
  %r1 = graph.reduce sum %wg [1] : tensor<16384x4096xf32> -> tensor<16384xf32>
  %b0 = graph.broadcast %r0 [0] : tensor<16384xf32> -> tensor<16384x4096xf32>
  %b1 = graph.broadcast %r1 [0] : tensor<16384xf32> -> tensor<16384x4096xf32>
  %p = graph.mul %w, %b0 : tensor<16384x4096xf32>
  %d = graph.sub %wg, %p : tensor<16384x4096xf32>
  %e = graph.sub %d, %b1 : tensor<16384x4096xf32>
  %dx = graph.cast %e : tensor<16384x4096xf32> -> tensor<16384x4096xbf16>
  %gw = graph.mul %g, %w : tensor<16384x4096xf32>
  %c0 = graph.reduce sum %gw [0] : tensor<16384x4096xf32> -> tensor<4096xf32>
  %c1 = graph.reduce sum %g [0] : tensor<16384x4096xf32> -> tensor<4096xf32>
  %dg = graph.cast %c0 : tensor<4096xf32> -> tensor<4096xbf16>
  return %dx, %dg, %c1 : tensor<16384x4096xbf16>, tensor<4096xbf16>, tensor<4096xf32>
}
