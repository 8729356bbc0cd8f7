// RUN: fusec-opt %s --test-tile-to-simt --canonicalize --cse | FileCheck %s

// The layout is the reduction tree. Of 32 columns a thread has two (register
// digit), eight lanes have sixteen, two warps have all: one combine in the
// thread, three shuffles, one exchange through shared memory.
// CHECK: simt.kernel @warps
// CHECK: %[[SHARED:.*]] = simt.shared : memref<8xf32, 3>
// CHECK: simt.load
// CHECK: arith.maximumf
// CHECK: simt.shuffle_xor %{{.*}}, 1
// CHECK: arith.maximumf
// CHECK: simt.shuffle_xor %{{.*}}, 2
// CHECK: arith.maximumf
// CHECK: simt.shuffle_xor %{{.*}}, 4
// CHECK: arith.maximumf
// CHECK-NOT: simt.shuffle_xor
// One lane of each eight writes its row: slot warp * 4 + row.
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c8
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[FIRST]]
// CHECK:   %[[SLOT:.*]] = arith.addi %{{.*}}, %[[ROW]]
// CHECK:   memref.store %{{.*}}, %[[SHARED]][%[[SLOT]]]
// CHECK: simt.barrier
// CHECK: memref.load %[[SHARED]][%[[ROW]]]
// CHECK: %[[OTHER:.*]] = arith.addi %[[ROW]], %c4
// CHECK: memref.load %[[SHARED]][%[[OTHER]]]
// CHECK: arith.maximumf
// Of the threads that hold copies of a row's result one stores it.
// CHECK: %[[ONE:.*]] = arith.andi
// CHECK: simt.store 1 %{{.*}}[%[[ROW]]] mask %[[ONE]]
#full = #tile.layout<reg = [2:1:1], lane = [8:2:1, 4:1:0], warp = [2:16:1]>
#row = #tile.layout<reg = [], lane = [8:0:1, 4:1:0], warp = [2:0:1]>
tile.kernel @warps(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 64 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %r = tile.iota 0 : tensor<4x32xindex, #full>
  %c = tile.iota 1 : tensor<4x32xindex, #full>
  %n = arith.constant dense<32> : tensor<4x32xindex, #full>
  %rn = arith.muli %r, %n : tensor<4x32xindex, #full>
  %at = arith.addi %rn, %c : tensor<4x32xindex, #full>
  %v = tile.load %a[%at] : memref<?xf32>, tensor<4x32xindex, #full> -> tensor<4x32xf32, #full>
  %s = tile.reduce %v axes [1] : tensor<4x32xf32, #full> -> tensor<4x1xf32, #row> {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %y : f32
    tile.yield %m : f32
  }
  %ro = tile.iota 0 : tensor<4x1xindex, #row>
  tile.store %s, %b[%ro] : tensor<4x1xf32, #row>, memref<?xf32>, tensor<4x1xindex, #row>
}

// In a loop the halves of a small buffer take turns: a barrier between writes
// and reads is enough, since who writes a half again has met all others behind
// their reads of it.
// CHECK: simt.kernel @again
// CHECK: %[[TWICE:.*]] = simt.shared : memref<4xf32, 3>
// CHECK: scf.for
// CHECK:   memref.store %{{.*}}, %[[TWICE]]
// CHECK:   simt.barrier
// CHECK:   memref.load %[[TWICE]]
// CHECK-NOT: simt.barrier
// CHECK: simt.store
#strip = #tile.layout<reg = [], lane = [32:1:1], warp = [2:32:1]>
#one = #tile.layout<reg = [], lane = [32:0:1], warp = [2:0:1]>
tile.kernel @again(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 64 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %start = arith.muli %i, %c64 : index
    %starts = tile.splat %start : index -> tensor<1x64xindex, #strip>
    %c = tile.iota 1 : tensor<1x64xindex, #strip>
    %at = arith.addi %starts, %c : tensor<1x64xindex, #strip>
    %v = tile.load %a[%at] : memref<?xf32>, tensor<1x64xindex, #strip> -> tensor<1x64xf32, #strip>
    %s = tile.reduce %v axes [1] : tensor<1x64xf32, #strip> -> tensor<1x1xf32, #one> {
    ^bb0(%x: f32, %y: f32):
      %m = arith.maximumf %x, %y : f32
      tile.yield %m : f32
    }
    %out = tile.splat %i : index -> tensor<1x1xindex, #one>
    tile.store %s, %b[%out] : tensor<1x1xf32, #one>, memref<?xf32>, tensor<1x1xindex, #one>
  }
}

// Exchanges of 16 KiB each: the second uses the buffer of the first, after a
// barrier, because other warps may still read it.
// CHECK: simt.kernel @reuse
// CHECK: simt.shared : memref<4096xf32, 3>
// CHECK-NOT: simt.shared
// CHECK: memref.store
// CHECK: simt.barrier
// CHECK: memref.load
// CHECK: simt.barrier
// CHECK: memref.store {{.*}} : memref<4096xf32, 3>
// CHECK: simt.barrier
// CHECK: memref.load {{.*}} : memref<4096xf32, 3>
#rows = #tile.layout<reg = [16:32:0], lane = [32:1:0], warp = [8:1:1]>
#sums = #tile.layout<reg = [16:32:0], lane = [32:1:0], warp = [8:0:1]>
tile.kernel @reuse(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 256 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %r = tile.iota 0 : tensor<512x8xindex, #rows>
  %c = tile.iota 1 : tensor<512x8xindex, #rows>
  %eight = arith.constant dense<8> : tensor<512x8xindex, #rows>
  %start = arith.muli %r, %eight : tensor<512x8xindex, #rows>
  %at = arith.addi %start, %c : tensor<512x8xindex, #rows>
  %v = tile.load %a[%at] : memref<?xf32>, tensor<512x8xindex, #rows> -> tensor<512x8xf32, #rows>
  %max = tile.reduce %v axes [1] : tensor<512x8xf32, #rows> -> tensor<512x1xf32, #sums> {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %y : f32
    tile.yield %m : f32
  }
  %sum = tile.reduce %v axes [1] : tensor<512x8xf32, #rows> -> tensor<512x1xf32, #sums> {
  ^bb0(%x: f32, %y: f32):
    %m = arith.addf %x, %y : f32
    tile.yield %m : f32
  }
  %d = arith.subf %max, %sum : tensor<512x1xf32, #sums>
  %ro = tile.iota 0 : tensor<512x1xindex, #sums>
  tile.store %d, %b[%ro] : tensor<512x1xf32, #sums>, memref<?xf32>, tensor<512x1xindex, #sums>
}

// 16 warps, each lane with a column of its own: in order every warp would read
// what all have, 16 * 16 * 8 reads for two states of four columns each. They
// meet two and two.
// CHECK: simt.kernel @columns
// CHECK-COUNT-4: scf.if
// CHECK-NOT: scf.if
// CHECK: simt.store
#deep = #tile.layout<reg = [4:32:1], lane = [32:1:1], warp = [16:1:0]>
#flat = #tile.layout<reg = [4:32:1], lane = [32:1:1], warp = [16:0:0]>
tile.kernel @columns(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 512 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %r = tile.iota 0 : tensor<16x128xindex, #deep>
  %c = tile.iota 1 : tensor<16x128xindex, #deep>
  %width = arith.constant dense<128> : tensor<16x128xindex, #deep>
  %start = arith.muli %r, %width : tensor<16x128xindex, #deep>
  %at = arith.addi %start, %c : tensor<16x128xindex, #deep>
  %v = tile.load %a[%at] : memref<?xf32>, tensor<16x128xindex, #deep> -> tensor<16x128xf32, #deep>
  %m:2 = tile.reduce %v, %v axes [0] : tensor<16x128xf32, #deep>, tensor<16x128xf32, #deep> -> tensor<1x128xf32, #flat>, tensor<1x128xf32, #flat> {
  ^bb0(%x0: f32, %x1: f32, %y0: f32, %y1: f32):
    %0 = arith.addf %x0, %y0 : f32
    %1 = arith.maximumf %x1, %y1 : f32
    tile.yield %0, %1 : f32, f32
  }
  %d = arith.subf %m#0, %m#1 : tensor<1x128xf32, #flat>
  %co = tile.iota 1 : tensor<1x128xindex, #flat>
  tile.store %d, %b[%co] : tensor<1x128xf32, #flat>, memref<?xf32>, tensor<1x128xindex, #flat>
}
