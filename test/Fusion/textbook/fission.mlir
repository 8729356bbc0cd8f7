// Sums along rows and then along columns have different iteration spaces: the
// chain is split at the row sums, and the reason says so. Both kernels compute
// the exponential; storing it would move more bytes.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion{{.*}} : (tensor<512x512xf32>) -> tensor<512xf32> {
// CHECK:   graph.exp
// CHECK:   graph.reduce sum {{.*}} [1]
// CHECK: graph.fusion
// CHECK:   graph.exp
// CHECK:   graph.reduce sum {{.*}} [0]
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec explain %s | FileCheck %s --check-prefix=WHY
// WHY: not fused, most costly first:
// WHY: kernels 0 and 1
// WHY-NEXT: why: {{.*}}reduces axes [0] of its operand where the kernel's longest reduction reduces [1]
// WHY-NEXT: then: reduce the same axes, or transpose so that they line up
func.func @f(%x: tensor<512x512xf32>) -> tensor<512xf32> {
  %e = graph.exp %x : tensor<512x512xf32>
  %s = graph.reduce sum %e [1] : tensor<512x512xf32> -> tensor<512xf32>
  %b = graph.broadcast %s [0] : tensor<512xf32> -> tensor<512x512xf32>
  %d = graph.div %e, %b : tensor<512x512xf32>
  %t = graph.reduce sum %d [0] : tensor<512x512xf32> -> tensor<512xf32>
  return %t : tensor<512xf32>
}
