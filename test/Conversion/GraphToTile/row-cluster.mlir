// RUN: fusec-opt %s --test-graph-to-tile --canonicalize --cse | FileCheck %s

// A row of 150000 does not fit the registers of a block. Four rows are few, so
// a cluster of 16 blocks takes each: a block has 1024 columns of each of the
// five chunks of an iteration. What the sum needs is copied to shared memory, a
// group an iteration, to places that each thread reads itself. Of ten chunks
// the last alone has a mask for its columns.
// CHECK: tile.kernel {{.*}} attributes {cluster = 16 : i64,
// CHECK-SAME: grid = array<i64: 4, 1, 1>
// CHECK-COUNT-10: tile.alloc dynamic : memref<1024xf32, 3>
// CHECK: %[[SLOT:.*]] = tile.slot
// CHECK: %[[PLACE:.*]] = arith.addi %{{.*}}, %[[SLOT]]
// CHECK-COUNT-5: tile.copy %arg0[%{{[0-9]+}}] to %{{[0-9]+}}[%[[PLACE]]] : memref
// CHECK: tile.copy_commit
// CHECK-COUNT-4: tile.copy %arg0[%{{[0-9]+}}] to %{{[0-9]+}}[%[[PLACE]]] : memref
// CHECK: tile.copy %arg0[%{{[0-9]+}}] to %{{[0-9]+}}[%[[PLACE]]] mask
// CHECK: tile.copy_commit
// CHECK: tile.copy_wait 1
// CHECK-COUNT-5: tile.load %{{.*}} : memref<1024xf32, 3>
// CHECK: tile.copy_commit
// CHECK: tile.copy_wait 1
// CHECK-COUNT-5: tile.load %{{.*}} : memref<1024xf32, 3>
// CHECK: tile.copy_commit
// CHECK: tile.reduce {{.*}} axes [1]
// CHECK-SAME: cluster = [16:1024:1]
// CHECK-SAME: cluster = [16:0:1]
// CHECK-NOT: tile.load %arg0
// CHECK-COUNT-10: tile.load %{{.*}} : memref<1024xf32, 3>
// CHECK-NOT: tile.load %arg0
func.func @f(%x: tensor<4x150000xf32>) -> tensor<4x150000xf32> {
  %0 = graph.fusion(%a = %x) : (tensor<4x150000xf32>) -> tensor<4x150000xf32> {
    %s = graph.reduce sum %a [1] : tensor<4x150000xf32> -> tensor<4xf32>
    %b = graph.broadcast %s [0] : tensor<4xf32> -> tensor<4x150000xf32>
    %d = graph.sub %a, %b : tensor<4x150000xf32>
    graph.yield %d : tensor<4x150000xf32>
  }
  return %0 : tensor<4x150000xf32>
}
