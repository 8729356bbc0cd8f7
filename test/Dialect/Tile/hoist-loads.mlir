// RUN: fusec-opt %s --fusec-tile-hoist-loads | FileCheck %s

#l = #tile.layout<reg = [4:1:0], lane = [32:4:0], warp = []>

// A weight that all iterations read is loaded once, and widened once.
// CHECK-LABEL: tile.kernel @weight
// CHECK: tile.load
// CHECK: arith.extf
// CHECK: scf.for
// CHECK-NOT: tile.load
tile.kernel @weight(%w: memref<?xf16>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %z = arith.constant dense<0> : tensor<128xindex, #l>
    %v = tile.load %w[%z] : memref<?xf16>, tensor<128xindex, #l> -> tensor<128xf16, #l>
    %e = arith.extf %v : tensor<128xf16, #l> to tensor<128xf32, #l>
    %s = tile.splat %i : index -> tensor<128xindex, #l>
    tile.store %e, %b[%s] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
  }
}

// What the loop may not reach, writes, or changes is left alone.
// CHECK-LABEL: tile.kernel @kept
// CHECK-NOT: tile.load
// CHECK: scf.for
// CHECK: tile.load
// CHECK: tile.load
// CHECK: scf.for
// CHECK: tile.load
tile.kernel @kept(%w: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant dense<0> : tensor<128xindex, #l>
  scf.for %i = %c0 to %c8 step %c1 {
    %s = tile.splat %i : index -> tensor<128xindex, #l>
    %v = tile.load %w[%s] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
    %u = tile.load %b[%z] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
    %t = arith.addf %u, %v : tensor<128xf32, #l>
    tile.store %t, %b[%z] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = tile.load %w[%z] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
    tile.store %v, %b[%z] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
  }
}

// As many as a thread has registers for: 64 of one loop.
// CHECK-LABEL: tile.kernel @many
// CHECK: tile.load %{{.*}} -> tensor<2048xf32
// CHECK: scf.for
// CHECK: tile.load %{{.*}} -> tensor<32xf32
#full = #tile.layout<reg = [64:32:0], lane = [32:1:0], warp = []>
#more = #tile.layout<reg = [], lane = [32:1:0], warp = []>
tile.kernel @many(%w: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %at = tile.iota 0 : tensor<2048xindex, #full>
    %v = tile.load %w[%at] : memref<?xf32>, tensor<2048xindex, #full> -> tensor<2048xf32, #full>
    %here = tile.iota 0 : tensor<32xindex, #more>
    %u = tile.load %w[%here] : memref<?xf32>, tensor<32xindex, #more> -> tensor<32xf32, #more>
    %s = tile.splat %i : index -> tensor<2048xindex, #full>
    %t = tile.splat %i : index -> tensor<32xindex, #more>
    tile.store %v, %b[%s] : tensor<2048xf32, #full>, memref<?xf32>, tensor<2048xindex, #full>
    tile.store %u, %b[%t] : tensor<32xf32, #more>, memref<?xf32>, tensor<32xindex, #more>
  }
}

// Equal loads on both sides of a store count once: 64 registers, not 128.
// CHECK-LABEL: tile.kernel @equal
// CHECK-COUNT-2: tile.load %{{.*}} -> tensor<2048xf32
// CHECK: scf.for
// CHECK-NOT: tile.load
// CHECK: tile.store
// CHECK-NOT: tile.load
// CHECK: tile.store
tile.kernel @equal(%w: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %at = tile.iota 0 : tensor<2048xindex, #full>
  scf.for %i = %c0 to %c8 step %c1 {
    %s = tile.splat %i : index -> tensor<2048xindex, #full>
    %v = tile.load %w[%at] : memref<?xf32>, tensor<2048xindex, #full> -> tensor<2048xf32, #full>
    tile.store %v, %b[%s] : tensor<2048xf32, #full>, memref<?xf32>, tensor<2048xindex, #full>
    %u = tile.load %w[%at] : memref<?xf32>, tensor<2048xindex, #full> -> tensor<2048xf32, #full>
    tile.store %u, %b[%at] : tensor<2048xf32, #full>, memref<?xf32>, tensor<2048xindex, #full>
  }
}

// Loads of another place are others.
// CHECK-LABEL: tile.kernel @places
// CHECK-COUNT-1: tile.load %{{.*}} -> tensor<2048xf32
// CHECK: scf.for
// CHECK: tile.load %{{.*}} -> tensor<2048xf32
tile.kernel @places(%w: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %at = tile.iota 0 : tensor<2048xindex, #full>
  %ones = arith.constant dense<1> : tensor<2048xindex, #full>
  %next = arith.addi %at, %ones : tensor<2048xindex, #full>
  scf.for %i = %c0 to %c8 step %c1 {
    %s = tile.splat %i : index -> tensor<2048xindex, #full>
    %v = tile.load %w[%at] : memref<?xf32>, tensor<2048xindex, #full> -> tensor<2048xf32, #full>
    tile.store %v, %b[%s] : tensor<2048xf32, #full>, memref<?xf32>, tensor<2048xindex, #full>
    %u = tile.load %w[%next] : memref<?xf32>, tensor<2048xindex, #full> -> tensor<2048xf32, #full>
    tile.store %u, %b[%at] : tensor<2048xf32, #full>, memref<?xf32>, tensor<2048xindex, #full>
  }
}

// A tile that stays, as its place changes, takes the registers of other tiles;
// one number a thread leaves the loop beside it.
// CHECK-LABEL: tile.kernel @beside
// CHECK: %[[ONE:.*]] = tile.load %{{.*}} -> tensor<2048xf32
// CHECK-NOT: tile.load
// CHECK: scf.for
// CHECK: tile.load %{{.*}} -> tensor<2048xf32
// CHECK: tile.load %{{.*}} -> tensor<64xf32
// CHECK: arith.mulf %{{.*}}, %[[ONE]]
#pair = #tile.layout<reg = [2:32:0], lane = [32:1:0], warp = []>
tile.kernel @beside(%w: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %first = arith.constant dense<0> : tensor<2048xindex, #full>
  %here = tile.iota 0 : tensor<64xindex, #pair>
  scf.for %i = %c0 to %c8 step %c1 {
    %s = tile.splat %i : index -> tensor<2048xindex, #full>
    %t = tile.splat %i : index -> tensor<64xindex, #pair>
    %at = tile.iota 0 : tensor<2048xindex, #full>
    %moved = arith.addi %at, %s : tensor<2048xindex, #full>
    %v = tile.load %w[%moved] : memref<?xf32>, tensor<2048xindex, #full> -> tensor<2048xf32, #full>
    %u = tile.load %w[%here] : memref<?xf32>, tensor<64xindex, #pair> -> tensor<64xf32, #pair>
    %one = tile.load %w[%first] : memref<?xf32>, tensor<2048xindex, #full> -> tensor<2048xf32, #full>
    %x = arith.mulf %v, %one : tensor<2048xf32, #full>
    tile.store %x, %b[%moved] : tensor<2048xf32, #full>, memref<?xf32>, tensor<2048xindex, #full>
    tile.store %u, %b[%t] : tensor<64xf32, #pair>, memref<?xf32>, tensor<64xindex, #pair>
  }
}
