// RUN: fusec-opt %s --fusec-tile-load-early | FileCheck %s

#row = #tile.layout<reg = [8:1:1], lane = [32:8:1], warp = []>
#one = #tile.layout<reg = [], lane = [32:0:1], warp = []>

// The scale of a norm is loaded behind the row and ahead of its sum, with the
// arithmetic of its place; the sum waits for neither.
// CHECK-LABEL: tile.kernel @scale
// CHECK: tile.load %arg0
// CHECK-NEXT: %[[AT:.*]] = arith.addi
// CHECK-NEXT: tile.load %arg1[%[[AT]]]
// CHECK: tile.reduce
// CHECK-NOT: tile.load
tile.kernel @scale(%x: memref<?xf32>, %g: memref<?xf32>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 2 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %at = tile.iota 1 : tensor<1x256xindex, #row>
  %one = arith.constant dense<1> : tensor<1x256xindex, #row>
  %v = tile.load %x[%at] : memref<?xf32>, tensor<1x256xindex, #row> -> tensor<1x256xf32, #row>
  %q = arith.mulf %v, %v : tensor<1x256xf32, #row>
  %s = tile.reduce %q axes [1] : tensor<1x256xf32, #row> -> tensor<1x1xf32, #one> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %all = tile.broadcast %s : tensor<1x1xf32, #one> -> tensor<1x256xf32, #row>
  %next = arith.addi %at, %one : tensor<1x256xindex, #row>
  %w = tile.load %g[%next] : memref<?xf32>, tensor<1x256xindex, #row> -> tensor<1x256xf32, #row>
  %n = arith.mulf %v, %all : tensor<1x256xf32, #row>
  %r = arith.mulf %n, %w : tensor<1x256xf32, #row>
  tile.store %r, %y[%at] : tensor<1x256xf32, #row>, memref<?xf32>, tensor<1x256xindex, #row>
}

// What is written, and what is looked up by the result of a reduction, stays.
// CHECK-LABEL: tile.kernel @waits
// CHECK: tile.load %arg0
// CHECK-NOT: tile.load
// CHECK: tile.reduce
// CHECK: tile.load %arg1
// CHECK: tile.load %arg2
tile.kernel @waits(%x: memref<?xi32>, %g: memref<?xi32>, %y: memref<?xi32>) attributes {threads = 32 : i64, readOnly = 2 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %at = tile.iota 1 : tensor<1x256xindex, #row>
  %v = tile.load %x[%at] : memref<?xi32>, tensor<1x256xindex, #row> -> tensor<1x256xi32, #row>
  %s = tile.reduce %v axes [1] : tensor<1x256xi32, #row> -> tensor<1x1xi32, #one> {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tile.yield %c : i32
  }
  %place = arith.index_cast %s : tensor<1x1xi32, #one> to tensor<1x1xindex, #one>
  %w = tile.load %g[%place] : memref<?xi32>, tensor<1x1xindex, #one> -> tensor<1x1xi32, #one>
  %old = tile.load %y[%at] : memref<?xi32>, tensor<1x256xindex, #row> -> tensor<1x256xi32, #row>
  %all = tile.broadcast %w : tensor<1x1xi32, #one> -> tensor<1x256xi32, #row>
  %r = arith.addi %old, %all : tensor<1x256xi32, #row>
  tile.store %r, %y[%at] : tensor<1x256xi32, #row>, memref<?xi32>, tensor<1x256xindex, #row>
}

// A thread holds 48 registers: 32 of the row as differences to its mean, 16 of
// a scale of 16 bits, and nothing of the bias.
// CHECK-LABEL: tile.kernel @full
// CHECK: tile.load %arg0
// CHECK-NEXT: tile.load %arg1
// CHECK-NOT: tile.load
// CHECK: tile.reduce
// CHECK: tile.reduce
// CHECK: tile.load %arg2
#long = #tile.layout<reg = [8:1:1, 4:256:1], lane = [32:8:1], warp = []>
tile.kernel @full(%x: memref<?xf16>, %g: memref<?xf16>, %b: memref<?xf16>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 3 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %at = tile.iota 1 : tensor<1x1024xindex, #long>
  %narrow = tile.load %x[%at] {vector = 8 : i64} : memref<?xf16>, tensor<1x1024xindex, #long> -> tensor<1x1024xf16, #long>
  %v = arith.extf %narrow : tensor<1x1024xf16, #long> to tensor<1x1024xf32, #long>
  %s = tile.reduce %v axes [1] : tensor<1x1024xf32, #long> -> tensor<1x1xf32, #one> {
  ^bb0(%p: f32, %q: f32):
    %c = arith.addf %p, %q : f32
    tile.yield %c : f32
  }
  %all = tile.broadcast %s : tensor<1x1xf32, #one> -> tensor<1x1024xf32, #long>
  %d = arith.subf %v, %all : tensor<1x1024xf32, #long>
  %dd = arith.mulf %d, %d : tensor<1x1024xf32, #long>
  %t = tile.reduce %dd axes [1] : tensor<1x1024xf32, #long> -> tensor<1x1xf32, #one> {
  ^bb0(%p: f32, %q: f32):
    %c = arith.addf %p, %q : f32
    tile.yield %c : f32
  }
  %every = tile.broadcast %t : tensor<1x1xf32, #one> -> tensor<1x1024xf32, #long>
  %n = arith.mulf %d, %every : tensor<1x1024xf32, #long>
  %scale = tile.load %g[%at] {vector = 8 : i64} : memref<?xf16>, tensor<1x1024xindex, #long> -> tensor<1x1024xf16, #long>
  %bias = tile.load %b[%at] {vector = 8 : i64} : memref<?xf16>, tensor<1x1024xindex, #long> -> tensor<1x1024xf16, #long>
  %wide = arith.extf %scale : tensor<1x1024xf16, #long> to tensor<1x1024xf32, #long>
  %more = arith.extf %bias : tensor<1x1024xf16, #long> to tensor<1x1024xf32, #long>
  %m = arith.mulf %n, %wide : tensor<1x1024xf32, #long>
  %r = arith.addf %m, %more : tensor<1x1024xf32, #long>
  tile.store %r, %y[%at] : tensor<1x1024xf32, #long>, memref<?xf32>, tensor<1x1024xindex, #long>
}

// Narrow elements that are loaded one by one, a register each, stay.
// CHECK-LABEL: tile.kernel @narrow
// CHECK: tile.reduce
// CHECK: tile.load %arg1
tile.kernel @narrow(%x: memref<?xf32>, %g: memref<?xf16>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 2 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %at = tile.iota 1 : tensor<1x256xindex, #row>
  %v = tile.load %x[%at] : memref<?xf32>, tensor<1x256xindex, #row> -> tensor<1x256xf32, #row>
  %s = tile.reduce %v axes [1] : tensor<1x256xf32, #row> -> tensor<1x1xf32, #one> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %all = tile.broadcast %s : tensor<1x1xf32, #one> -> tensor<1x256xf32, #row>
  %w = tile.load %g[%at] : memref<?xf16>, tensor<1x256xindex, #row> -> tensor<1x256xf16, #row>
  %wide = arith.extf %w : tensor<1x256xf16, #row> to tensor<1x256xf32, #row>
  %r = arith.mulf %all, %wide : tensor<1x256xf32, #row>
  tile.store %r, %y[%at] : tensor<1x256xf32, #row>, memref<?xf32>, tensor<1x256xindex, #row>
}

// Other blocks may wait for what is stored between reductions.
// CHECK-LABEL: tile.kernel @stored
// CHECK: tile.store
// CHECK: tile.load %arg1
tile.kernel @stored(%x: memref<?xf32>, %g: memref<?xf32>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 2 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %at = tile.iota 1 : tensor<1x256xindex, #row>
  %v = tile.load %x[%at] : memref<?xf32>, tensor<1x256xindex, #row> -> tensor<1x256xf32, #row>
  %s = tile.reduce %v axes [1] : tensor<1x256xf32, #row> -> tensor<1x1xf32, #one> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %all = tile.broadcast %s : tensor<1x1xf32, #one> -> tensor<1x256xf32, #row>
  tile.store %all, %y[%at] : tensor<1x256xf32, #row>, memref<?xf32>, tensor<1x256xindex, #row>
  %w = tile.load %g[%at] : memref<?xf32>, tensor<1x256xindex, #row> -> tensor<1x256xf32, #row>
  %r = arith.mulf %v, %w : tensor<1x256xf32, #row>
  tile.store %r, %y[%at] : tensor<1x256xf32, #row>, memref<?xf32>, tensor<1x256xindex, #row>
}
