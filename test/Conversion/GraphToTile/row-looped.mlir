// RUN: fusec-opt %s --test-graph-to-tile --canonicalize --cse | FileCheck %s

// A row of 1200000 does not fit 16 blocks, and with 100 rows there are none to share it: the sum walks it in chunks of 16384, columns
// behind the end count as 0, and a second loop loads it again for the output.
// CHECK: tile.kernel
// CHECK: %[[SUM:.*]] = scf.for {{.*}} to %c1212416 step %c16384 iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK:   %[[INSIDE:.*]] = arith.cmpi slt
// CHECK:   %[[X:.*]] = tile.load
// CHECK:   %[[PART:.*]] = arith.select %{{.*}}, %[[X]], %{{.*}}
// CHECK:   arith.addf %[[ACC]], %[[PART]]
// CHECK: %[[TOTAL:.*]] = tile.reduce %[[SUM]] axes [1]
// CHECK: scf.for {{.*}} to %c1212416 step %c16384
// CHECK:   %[[AGAIN:.*]] = tile.load
// CHECK:   %[[WIDE:.*]] = tile.broadcast %[[TOTAL]]
// CHECK:   arith.subf %[[AGAIN]], %[[WIDE]]
// CHECK:   tile.store
func.func @f(%x: tensor<100x1200000xf32>) -> tensor<100x1200000xf32> {
  %0 = graph.fusion(%a = %x) : (tensor<100x1200000xf32>) -> tensor<100x1200000xf32> {
    %s = graph.reduce sum %a [1] : tensor<100x1200000xf32> -> tensor<100xf32>
    %b = graph.broadcast %s [0] : tensor<100xf32> -> tensor<100x1200000xf32>
    %d = graph.sub %a, %b : tensor<100x1200000xf32>
    graph.yield %d : tensor<100x1200000xf32>
  }
  return %0 : tensor<100x1200000xf32>
}
