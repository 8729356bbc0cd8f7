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
