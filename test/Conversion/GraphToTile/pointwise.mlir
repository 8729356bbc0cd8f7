// RUN: fusec-opt %s --test-graph-to-tile --canonicalize --cse | FileCheck %s

// The spine is one linear axis; a block takes 1024 elements of it. A broadcast
// is a remainder in the offset of its operand's load.
// CHECK: tile.kernel @kernel0(%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %[[OUT:.*]]: memref<?xf32>, %[[EXTENT:.*]]: index)
// CHECK-DAG: %[[ROW:.*]] = arith.constant dense<1000>
// CHECK-DAG: %[[START:.*]] = arith.muli %{{.*}}, %c1024
// The extent counts vectors of 4, which are part of the text; the size is not.
// CHECK: arith.muli %[[EXTENT]], %c4
// CHECK: %[[BASE:.*]] = tile.splat %[[START]]
// CHECK: %[[LOCAL:.*]] = tile.iota 0
// CHECK: %[[AT:.*]] = arith.addi %[[BASE]], %[[LOCAL]]
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[AT]]
// CHECK: %[[A:.*]] = tile.load %[[X]][%[[AT]]] mask %[[MASK]]
// CHECK: %[[COLUMN:.*]] = arith.remui %[[AT]], %[[ROW]]
// CHECK: %[[B:.*]] = tile.load %[[Y]][%[[COLUMN]]] mask %[[MASK]]
// CHECK: %[[D:.*]] = arith.subf %[[A]], %[[B]]
// CHECK: tile.store %[[D]], %[[OUT]][%[[AT]]] mask %[[MASK]]
func.func @f(%x: tensor<8x1000xf32>, %y: tensor<1000xf32>) -> tensor<8x1000xf32> {
  %0 = graph.fusion(%a = %x, %c = %y) : (tensor<8x1000xf32>, tensor<1000xf32>) -> tensor<8x1000xf32> {
    %b = graph.broadcast %c [1] : tensor<1000xf32> -> tensor<8x1000xf32>
    %d = graph.sub %a, %b : tensor<8x1000xf32>
    graph.yield %d : tensor<8x1000xf32>
  }
  return %0 : tensor<8x1000xf32>
}
