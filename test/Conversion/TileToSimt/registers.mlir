// RUN: fusec-opt %s --test-tile-to-simt --canonicalize --cse | FileCheck %s

// A thread's share of a tile: a load of four elements fills an array of four
// registers, the element-wise ops run in one loop over them, with no array
// between. The index tile is never stored: what is needed of it is computed from
// lane and warp.
// CHECK: simt.kernel @pointwise
// CHECK-DAG: %[[LANE:.*]] = simt.lane
// CHECK-DAG: %[[WARP:.*]] = simt.warp
// CHECK: %[[X:.*]] = memref.alloca() : memref<4xf16>
// CHECK-NOT: scf.for
// CHECK: arith.muli %[[LANE]], %c4
// CHECK: arith.muli %[[WARP]], %c128
// CHECK: simt.load 4 %{{.*}}, %[[X]][%c0] mask
// CHECK: %[[Y:.*]] = memref.alloca() : memref<4xf32>
// CHECK: scf.for %[[R:.*]] = %c0 to %c4
// CHECK:   %[[V:.*]] = memref.load %[[X]][%[[R]]]
// CHECK:   %[[W:.*]] = arith.extf %[[V]]
// CHECK:   %[[S:.*]] = arith.mulf %[[W]], %[[W]]
// CHECK:   memref.store %[[S]], %[[Y]][%[[R]]]
// CHECK-NOT: memref.alloca
// CHECK-NOT: scf.for
// CHECK: simt.store 4 %[[Y]][%c0]
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

// What a loop uses and nothing else is computed before it, not in each
// iteration.
// CHECK: simt.kernel @before
// CHECK: %[[Y:.*]] = memref.alloca() : memref<4xf32>
// CHECK: scf.for
// CHECK:   arith.mulf
// CHECK:   memref.store %{{.*}}, %[[Y]]
// CHECK: scf.for %[[I:.*]] = %c0 to %c8
// CHECK-NOT: arith.mulf
// CHECK:   memref.load %[[Y]]
// CHECK: simt.store
#four = #tile.layout<reg = [4:1:0], lane = [32:4:0], warp = []>
tile.kernel @before(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %i = tile.iota 0 : tensor<128xindex, #four>
  %v = tile.load %a[%i] : memref<?xf32>, tensor<128xindex, #four> -> tensor<128xf32, #four>
  %s = arith.mulf %v, %v : tensor<128xf32, #four>
  %zero = arith.constant dense<0.0> : tensor<128xf32, #four>
  %sum = scf.for %w = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> tensor<128xf32, #four> {
    %next = arith.addf %acc, %s : tensor<128xf32, #four>
    scf.yield %next : tensor<128xf32, #four>
  }
  tile.store %sum, %b[%i] : tensor<128xf32, #four>, memref<?xf32>, tensor<128xindex, #four>
}
