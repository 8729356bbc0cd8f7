// RUN: fusec-opt %s | fusec-opt | FileCheck %s

// What is printed can be read: a kernel's arguments stand in its head alone.
// CHECK: tile.kernel @copy(%[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32>) attributes {
// CHECK-NEXT: %[[I:.*]] = tile.iota 0
// CHECK-NEXT: %[[V:.*]] = tile.load %[[A]][%[[I]]]
// CHECK-NEXT: tile.store %[[V]], %[[B]][%[[I]]]
// CHECK-NEXT: }
#l = #tile.layout<reg = [4:1:0], lane = [32:4:0], warp = []>
tile.kernel @copy(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %i = tile.iota 0 : tensor<128xindex, #l>
  %v = tile.load %a[%i] : memref<?xf32>, tensor<128xindex, #l> -> tensor<128xf32, #l>
  tile.store %v, %b[%i] : tensor<128xf32, #l>, memref<?xf32>, tensor<128xindex, #l>
}

// CHECK: simt.kernel @none(%{{.*}}: memref<?xf32>) attributes {
// CHECK-NEXT: simt.lane
simt.kernel @none(%a: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 0 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %lane = simt.lane : index
}
