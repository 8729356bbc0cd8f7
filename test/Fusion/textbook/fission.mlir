// Rows divided by their sums, then columns by theirs: what is divided by the
// columns' sums has to wait for all rows, and the reason says so. The sums of
// both axes are one kernel.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion{{.*}} : (tensor<2048x2048xf32>) -> (tensor<2048x2048xf32>, tensor<2048xf32>) {
// CHECK:   graph.exp
// CHECK:   graph.reduce sum {{.*}} [1]
// CHECK:   graph.reduce sum {{.*}} [0]
// CHECK: graph.fusion
// CHECK:   graph.div
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec explain %s | FileCheck %s --check-prefix=WHY
// WHY: not fused, most costly first:
// WHY: kernels 0 and 1
// WHY-NEXT: why: {{.*}}the result of graph.reduce is read at an index that depends on the reduced axes
func.func @f(%x: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %e = graph.exp %x : tensor<2048x2048xf32>
  %s = graph.reduce sum %e [1] : tensor<2048x2048xf32> -> tensor<2048xf32>
  %b = graph.broadcast %s [0] : tensor<2048xf32> -> tensor<2048x2048xf32>
  %d = graph.div %e, %b : tensor<2048x2048xf32>
  %t = graph.reduce sum %d [0] : tensor<2048x2048xf32> -> tensor<2048xf32>
  %c = graph.broadcast %t [1] : tensor<2048xf32> -> tensor<2048x2048xf32>
  %r = graph.div %d, %c : tensor<2048x2048xf32>
  return %r : tensor<2048x2048xf32>
}
