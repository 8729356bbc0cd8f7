// RUN: fusec-opt %s --test-graph-to-tile --canonicalize --cse | FileCheck %s

// A row of 150000 does not fit the registers of a block. Four rows are few, so
// a cluster of 16 blocks takes each: a block has 1024 columns of each of the
// two chunks of an iteration. What the sum has loaded it keeps in shared
// memory, at places that each thread reads itself. The last iteration, which
// alone has masks, stands by itself.
// CHECK: tile.kernel {{.*}} attributes {cluster = 16 : i64,
// CHECK-SAME: grid = array<i64: 4, 1, 1>
// CHECK-COUNT-2: tile.alloc dynamic : memref<4096xf32, 3>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} to %c131072 step %c32768 iter_args
// CHECK-COUNT-2: tile.load %arg0
// CHECK:   %[[SLOT:.*]] = tile.slot
// CHECK:   %[[PLACE:.*]] = arith.addi %{{.*}}, %[[SLOT]]
// CHECK-COUNT-2: tile.store %{{.*}}, %{{.*}}[%[[PLACE]]]
// CHECK-COUNT-2: tile.load %arg0[%{{.*}}] mask
// CHECK: tile.reduce {{.*}} axes [1]
// CHECK-SAME: cluster = [16:1024:1]
// CHECK-SAME: cluster = [16:0:1]
// CHECK: scf.for {{.*}} to %c131072 step %c32768
// CHECK-NOT: tile.load %arg0
// CHECK:   tile.load %{{.*}} : memref<4096xf32, 3>
// CHECK-NOT: tile.load %arg0
// CHECK: tile.load %{{.*}} : memref<1024xf32, 3>
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
