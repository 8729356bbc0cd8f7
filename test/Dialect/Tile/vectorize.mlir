// RUN: fusec-opt %s --fusec-tile-vectorize | FileCheck %s

// Consecutive, aligned offsets: one access of four registers. The bound is a
// multiple of four, so the mask is constant over a group.
// CHECK-LABEL: tile.kernel @aligned
// CHECK: tile.load {{.*}} {vector = 4 : i64}
#l = #tile.layout<reg = [4:1:0], lane = [32:4:0], warp = []>
tile.kernel @aligned(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64: 32>} {
  %c4 = arith.constant 4 : index
  %bound = arith.muli %n, %c4 : index
  %i = tile.iota 0 : tensor<128xindex, #l>
  %limit = tile.splat %bound : index -> tensor<128xindex, #l>
  %m = arith.cmpi slt, %i, %limit : tensor<128xindex, #l>
  %z = arith.constant dense<0.0> : tensor<128xf32, #l>
  %v = tile.load %a[%i] mask %m other %z : memref<?xf32>, tensor<128xindex, #l>, tensor<128xi1, #l>, tensor<128xf32, #l> -> tensor<128xf32, #l>
  tile.store %v, %b[%i] mask %m : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>, tensor<128xi1, #l>
}

// An odd start and an unknown bound: element by element.
// CHECK-LABEL: tile.kernel @unaligned
// CHECK-NOT: vector
tile.kernel @unaligned(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64: 32>} {
  %one = arith.constant dense<1> : tensor<128xindex, #l>
  %i = tile.iota 0 : tensor<128xindex, #l>
  %j = arith.addi %i, %one : tensor<128xindex, #l>
  %limit = tile.splat %n : index -> tensor<128xindex, #l>
  %m = arith.cmpi slt, %i, %limit : tensor<128xindex, #l>
  %v = tile.load %a[%j] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
  tile.store %v, %b[%i] mask %m : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>, tensor<128xi1, #l>
}

// The same with a lower bound, as padding has.
// CHECK-LABEL: tile.kernel @from
// CHECK: tile.load {{.*}} {vector = 4 : i64}
tile.kernel @from(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64: 32>} {
  %c4 = arith.constant 4 : index
  %bound = arith.muli %n, %c4 : index
  %i = tile.iota 0 : tensor<128xindex, #l>
  %limit = tile.splat %bound : index -> tensor<128xindex, #l>
  %m = arith.cmpi sge, %i, %limit : tensor<128xindex, #l>
  %z = arith.constant dense<0.0> : tensor<128xf32, #l>
  %v = tile.load %a[%i] mask %m other %z : memref<?xf32>, tensor<128xindex, #l>, tensor<128xi1, #l>, tensor<128xf32, #l> -> tensor<128xf32, #l>
  tile.store %v, %b[%i] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
}

// A quotient has lost the factors of the divisor: 4n / 4 may be odd, 16n / 4
// starts a vector.
// CHECK-LABEL: tile.kernel @quotients
// CHECK: tile.load %arg0
// CHECK-NOT: vector
// CHECK: tile.load %arg1{{.*}} {vector = 4 : i64}
tile.kernel @quotients(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %n: index) attributes {threads = 32 : i64, readOnly = 2 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64: 32>} {
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %i = tile.iota 0 : tensor<128xindex, #l>
  %few = arith.muli %n, %c4 : index
  %odd = arith.divui %few, %c4 : index
  %odds = tile.splat %odd : index -> tensor<128xindex, #l>
  %p = arith.addi %i, %odds : tensor<128xindex, #l>
  %v = tile.load %a[%p] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
  %many = arith.muli %n, %c16 : index
  %even = arith.divui %many, %c4 : index
  %evens = tile.splat %even : index -> tensor<128xindex, #l>
  %q = arith.addi %i, %evens : tensor<128xindex, #l>
  %w = tile.load %b[%q] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
  %s = arith.addf %v, %w : tensor<128xf32, #l>
  tile.store %s, %c[%i] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
}

// A row at a place that is read for all of it is read as vectors; elements that
// have places of their own are not.
// CHECK-LABEL: tile.kernel @looked_up
// CHECK: tile.load %arg0[%{{.*}}] : memref<?xi32>
// CHECK: tile.load %arg1[%{{.*}}] {vector = 4 : i64}
// CHECK: tile.load %arg0[%{{.*}}] {vector = 4 : i64}
// CHECK: tile.load %arg1[%{{.*}}] : memref<?xf32>
tile.kernel @looked_up(%i: memref<?xi32>, %a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 3 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %zero = tile.block_id 0 : index
  %row = tile.splat %zero : index -> tensor<128xindex, #l>
  %c = tile.iota 0 : tensor<128xindex, #l>
  %size = arith.constant dense<128> : tensor<128xindex, #l>
  %place = tile.load %i[%row] : memref<?xi32>, tensor<128xindex, #l> -> tensor<128xi32, #l>
  %at = arith.index_cast %place : tensor<128xi32, #l> to tensor<128xindex, #l>
  %start = arith.muli %at, %size : tensor<128xindex, #l>
  %offsets = arith.addi %start, %c : tensor<128xindex, #l>
  %v = tile.load %a[%offsets] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
  %places = tile.load %i[%c] : memref<?xi32>, tensor<128xindex, #l> -> tensor<128xi32, #l>
  %ats = arith.index_cast %places : tensor<128xi32, #l> to tensor<128xindex, #l>
  %starts = arith.muli %ats, %size : tensor<128xindex, #l>
  %others = arith.addi %starts, %c : tensor<128xindex, #l>
  %w = tile.load %a[%others] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
  %s = arith.addf %v, %w : tensor<128xf32, #l>
  tile.store %s, %b[%c] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
}

// A row that one element says: an index that was read, computed on and repeated.
// CHECK-LABEL: tile.kernel @computed_index
// CHECK: tile.load {{.*}} {vector = 4 : i64}
#row = #tile.layout<reg = [], lane = [32:0:1], warp = []>
#columns = #tile.layout<reg = [4:1:1], lane = [32:4:1], warp = []>
tile.kernel @computed_index(%a: memref<?xf32>, %n: memref<?xi64>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 3 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %zero = arith.constant dense<0> : tensor<1x1xindex, #row>
  %fifty = arith.constant dense<50> : tensor<1x1xi64, #row>
  %size = arith.constant dense<128> : tensor<1x128xindex, #columns>
  %k = tile.load %n[%zero] : memref<?xi64>, tensor<1x1xindex, #row> -> tensor<1x1xi64, #row>
  %d = arith.subi %k, %fifty : tensor<1x1xi64, #row>
  %r = tile.broadcast %d : tensor<1x1xi64, #row> -> tensor<1x128xi64, #columns>
  %x = arith.index_cast %r : tensor<1x128xi64, #columns> to tensor<1x128xindex, #columns>
  %m = arith.muli %x, %size : tensor<1x128xindex, #columns>
  %c = tile.iota 1 : tensor<1x128xindex, #columns>
  %i = arith.addi %m, %c : tensor<1x128xindex, #columns>
  %v = tile.load %a[%i] : memref<?xf32>, tensor<1x128xindex, #columns> -> tensor<1x128xf32, #columns>
  tile.store %v, %b[%c] : tensor<1x128xf32, #columns>, memref<?xf32>, tensor<1x128xindex, #columns>
}
