// RUN: fusec-opt %s --test-tile-to-simt --canonicalize --cse | FileCheck %s

// A thread's share of a tile: a load fills an array of four registers, the
// element-wise ops run in one loop over them, with no array between. The index
// tile is never stored: each loop computes what it needs from lane and warp.
// CHECK: simt.kernel @pointwise
// CHECK-DAG: %[[LANE:.*]] = simt.lane
// CHECK-DAG: %[[WARP:.*]] = simt.warp
// CHECK: %[[X:.*]] = memref.alloca() : memref<4xf16>
// CHECK: scf.for %[[R:.*]] = %c0 to %c4
// CHECK:   arith.muli %[[LANE]], %c4
// CHECK:   arith.muli %[[WARP]], %c128
// CHECK:   simt.load 4 %{{.*}}, %[[X]][%[[R]]] mask
// CHECK: %[[Y:.*]] = memref.alloca() : memref<4xf32>
// CHECK: scf.for %[[R:.*]] = %c0 to %c4
// CHECK:   %[[V:.*]] = memref.load %[[X]][%[[R]]]
// CHECK:   %[[W:.*]] = arith.extf %[[V]]
// CHECK:   %[[S:.*]] = arith.mulf %[[W]], %[[W]]
// CHECK:   memref.store %[[S]], %[[Y]][%[[R]]]
// CHECK-NOT: memref.alloca
// CHECK: simt.store 4 %[[Y]]
#l = #tile.layout<reg = [4:1:0], lane = [32:4:0], warp = [2:128:0]>
tile.kernel @pointwise(%a: memref<?xf16>, %b: memref<?xf32>, %n: index) attributes {threads = 64 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64: 256>} {
  %i = tile.iota 0 : tensor<256xindex, #l>
  %limit = tile.splat %n : index -> tensor<256xindex, #l>
  %m = arith.cmpi slt, %i, %limit : tensor<256xindex, #l>
  %z = arith.constant dense<0.0> : tensor<256xf16, #l>
  %v = tile.load %a[%i] mask %m other %z {vector = 4 : i64} : memref<?xf16>, tensor<256xindex, #l>, tensor<256xi1, #l>, tensor<256xf16, #l> -> tensor<256xf16, #l>
  %w = arith.extf %v : tensor<256xf16, #l> to tensor<256xf32, #l>
  %s = arith.mulf %w, %w : tensor<256xf32, #l>
  tile.store %s, %b[%i] mask %m {vector = 4 : i64} : tensor<256xf32, #l>, memref<?xf32>, tensor<256xindex, #l>, tensor<256xi1, #l>
}
