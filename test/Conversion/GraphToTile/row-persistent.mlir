// RUN: fusec-opt %s --test-graph-to-tile --canonicalize --cse | FileCheck %s

// A row of 256 fits a block: it is loaded once, reduced, and used again from
// the same tile. What a row has one of is a 1x1 tile, broadcast where needed.
// CHECK: tile.kernel
// CHECK-NOT: scf.for
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[SUM:.*]] = tile.reduce %[[X]] axes [1] : tensor<1x256xf32, {{.*}} -> tensor<1x1xf32,
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: arith.addf %[[A]], %[[B]] : f32
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[SUM]]
// CHECK-NOT: tile.load
// CHECK: arith.subf %[[X]], %[[WIDE]]
// CHECK: tile.store
func.func @f(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %0 = graph.fusion(%a = %x) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
    %s = graph.reduce sum %a [1] : tensor<64x256xf32> -> tensor<64xf32>
    %b = graph.broadcast %s [0] : tensor<64xf32> -> tensor<64x256xf32>
    %d = graph.sub %a, %b : tensor<64x256xf32>
    graph.yield %d : tensor<64x256xf32>
  }
  return %0 : tensor<64x256xf32>
}
