// RUN: fusec-opt %s --test-tile-to-simt --canonicalize --cse | FileCheck %s

// Columns 8 * lane + 256 * block + register: a thread's registers, lanes, then
// the four blocks of a cluster. Each block tells that it has begun, each of its
// warps (here one) sends its state to the shared memory of all four, one lane to
// each, and when all 16 bytes of the meeting have come lanes combine the copies
// by shuffles.
// CHECK: simt.kernel @cluster
// CHECK-SAME: cluster = 4
// CHECK-SAME: grid = array<i64: 12, 1, 1>
// CHECK: %[[RANK:.*]] = simt.cluster_rank
// CHECK: simt.cluster_arrive meetings [16]
// CHECK: simt.block_id 0
// CHECK: arith.divui %{{.*}}, %c4
// CHECK-COUNT-5: simt.shuffle_xor
// CHECK: %[[SHARED:.*]] = simt.shared dynamic : memref<4xf32, 3>
// CHECK: simt.cluster_wait
// CHECK: %[[PEER:.*]] = arith.cmpi ult, %[[LANE:.*]], %c4
// CHECK: scf.if %[[PEER]]
// CHECK:   %[[OWN:.*]] = arith.addi %[[RANK]], %{{.*}}
// CHECK:   simt.cluster_store %{{.*}}, %[[SHARED]][%[[OWN]]] of %[[LANE]] for 0
// CHECK: simt.cluster_meet 0
// CHECK: %[[COPY:.*]] = arith.remui %[[LANE]], %c4
// CHECK: memref.load %[[SHARED]][%[[COPY]]]
// CHECK-COUNT-2: simt.shuffle_xor
// CHECK-NOT: simt.shuffle_xor
// Of the threads of all blocks one stores.
// CHECK: arith.cmpi eq, %[[RANK]], %c0
// CHECK-NOT: simt.cluster
#full = #tile.layout<reg = [8:1:1], lane = [32:8:1], warp = [], cluster = [4:256:1]>
#row = #tile.layout<reg = [], lane = [32:0:1], warp = [], cluster = [4:0:1]>
tile.kernel @cluster(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 3, 1, 1>, extents = array<i64>, cluster = 4 : i64} {
  %block = tile.block_id 0 : index
  %rows = tile.splat %block : index -> tensor<1x1024xindex, #full>
  %c = tile.iota 1 : tensor<1x1024xindex, #full>
  %n = arith.constant dense<1024> : tensor<1x1024xindex, #full>
  %rn = arith.muli %rows, %n : tensor<1x1024xindex, #full>
  %at = arith.addi %rn, %c : tensor<1x1024xindex, #full>
  %v = tile.load %a[%at] : memref<?xf32>, tensor<1x1024xindex, #full> -> tensor<1x1024xf32, #full>
  %s = tile.reduce %v axes [1] : tensor<1x1024xf32, #full> -> tensor<1x1xf32, #row> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  }
  %row = tile.splat %block : index -> tensor<1x1xindex, #row>
  tile.store %s, %b[%row] : tensor<1x1xf32, #row>, memref<?xf32>, tensor<1x1xindex, #row>
}

// What warps keep of their own takes no barrier: 16 elements of the 1024 are one
// of a warp each, and each lane repeats its warp's.
// CHECK: simt.kernel @warps
// CHECK-COUNT-5: simt.shuffle_xor
// CHECK-NOT: simt.shared
// CHECK-NOT: barrier
// CHECK: simt.store
#both = #tile.layout<reg = [2:1:1], lane = [32:2:1], warp = [4:64:1], cluster = [4:256:1]>
#each = #tile.layout<reg = [], lane = [32:0:1], warp = [4:1:1], cluster = [4:4:1]>
tile.kernel @warps(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 128 : i64, readOnly = 1 : i64, grid = array<i64: 3, 1, 1>, extents = array<i64>, cluster = 4 : i64} {
  %at = tile.iota 1 : tensor<1x1024xindex, #both>
  %v = tile.load %a[%at] : memref<?xf32>, tensor<1x1024xindex, #both> -> tensor<1x1024xf32, #both>
  %m = tile.reduce %v axes [1] : tensor<1x1024xf32, #both> -> tensor<1x16xf32, #each> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.maximumf %x, %y : f32
    tile.yield %z : f32
  }
  %r = tile.broadcast %m : tensor<1x16xf32, #each> -> tensor<1x1024xf32, #both>
  %d = arith.subf %v, %r : tensor<1x1024xf32, #both>
  tile.store %d, %b[%at] : tensor<1x1024xf32, #both>, memref<?xf32>, tensor<1x1024xindex, #both>
}
