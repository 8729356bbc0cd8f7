// RUN: fusec-opt %s --test-tile-to-simt --canonicalize --cse | FileCheck %s

// A window of three over a strip of four neighbouring outputs: register r reads
// element r + w in iteration w. The six elements are read once, before the
// loop, instead of twelve times in it.
// CHECK: simt.kernel @strip
// CHECK: %[[SUM:.*]] = memref.alloca() : memref<4xf32>
// CHECK: %[[READ:.*]] = memref.alloca() : memref<6xf32>
// CHECK: scf.for %[[ENTRY:.*]] = %c0 to %c6
// CHECK:   simt.load 1 %{{.*}}, %[[READ]][%[[ENTRY]]]
// CHECK: scf.for %[[W:.*]] = %c0 to %c3
// CHECK-NOT: simt.load
// CHECK:   scf.for %[[R:.*]] = %c0 to %c4
// CHECK:     %[[AT:.*]] = arith.addi %{{.*}}, %[[W]]
// CHECK:     memref.load %[[READ]][%[[AT]]]
// CHECK:     memref.store %{{.*}}, %[[SUM]][%[[R]]]
// CHECK: simt.store
#l = #tile.layout<reg = [4:1:0], lane = [32:4:0], warp = []>
tile.kernel @strip(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %i = tile.iota 0 : tensor<128xindex, #l>
  %zero = arith.constant dense<0.0> : tensor<128xf32, #l>
  %sum = scf.for %w = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> tensor<128xf32, #l> {
    %ws = tile.splat %w : index -> tensor<128xindex, #l>
    %at = arith.addi %i, %ws : tensor<128xindex, #l>
    %v = tile.load %a[%at] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
    %next = arith.addf %acc, %v : tensor<128xf32, #l>
    scf.yield %next : tensor<128xf32, #l>
  }
  tile.store %sum, %b[%i] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
}

// A masked load may have nothing to share: it stays in the loop.
// CHECK: simt.kernel @masked
// CHECK: scf.for
// CHECK: scf.for %[[W:.*]] = %c0 to %c3
// CHECK: simt.load 1 {{.*}} mask
tile.kernel @masked(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64: 100>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %i = tile.iota 0 : tensor<128xindex, #l>
  %zero = arith.constant dense<0.0> : tensor<128xf32, #l>
  %limit = tile.splat %n : index -> tensor<128xindex, #l>
  %sum = scf.for %w = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> tensor<128xf32, #l> {
    %ws = tile.splat %w : index -> tensor<128xindex, #l>
    %at = arith.addi %i, %ws : tensor<128xindex, #l>
    %m = arith.cmpi slt, %at, %limit : tensor<128xindex, #l>
    %v = tile.load %a[%at] mask %m other %zero : memref<?xf32>, tensor<128xindex, #l>, tensor<128xi1, #l>, tensor<128xf32, #l> -> tensor<128xf32, #l>
    %next = arith.addf %acc, %v : tensor<128xf32, #l>
    scf.yield %next : tensor<128xf32, #l>
  }
  tile.store %sum, %b[%i] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
}

// A strip of one output has nothing to share: its rows take no registers.
// CHECK: simt.kernel @single
// CHECK-NOT: memref<3xf32>
// CHECK: scf.for %[[W:.*]] = %c0 to %c3
// CHECK: simt.load 1
#one = #tile.layout<reg = [1:1:0], lane = [32:1:0], warp = []>
tile.kernel @single(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %i = tile.iota 0 : tensor<32xindex, #one>
  %zero = arith.constant dense<0.0> : tensor<32xf32, #one>
  %sum = scf.for %w = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> tensor<32xf32, #one> {
    %ws = tile.splat %w : index -> tensor<32xindex, #one>
    %at = arith.addi %i, %ws : tensor<32xindex, #one>
    %v = tile.load %a[%at] : memref<?xf32>, tensor<32xindex, #one> -> tensor<32xf32, #one>
    %next = arith.addf %acc, %v : tensor<32xf32, #one>
    scf.yield %next : tensor<32xf32, #one>
  }
  tile.store %sum, %b[%i] : tensor<32xf32, #one>, memref<?xf32>, tensor<32xindex, #one>
}

// Two rows are shared, too.
// CHECK: simt.kernel @pair
// CHECK: memref<5xf32>
// CHECK: scf.for %[[W:.*]] = %c0 to %c2
// CHECK-NOT: simt.load
// CHECK: simt.store
tile.kernel @pair(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %i = tile.iota 0 : tensor<128xindex, #l>
  %zero = arith.constant dense<0.0> : tensor<128xf32, #l>
  %sum = scf.for %w = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> tensor<128xf32, #l> {
    %ws = tile.splat %w : index -> tensor<128xindex, #l>
    %at = arith.addi %i, %ws : tensor<128xindex, #l>
    %v = tile.load %a[%at] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
    %next = arith.addf %acc, %v : tensor<128xf32, #l>
    scf.yield %next : tensor<128xf32, #l>
  }
  tile.store %sum, %b[%i] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
}
