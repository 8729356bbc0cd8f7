// Two dense layers with GELU between: two kernels, each product with its bias,
// the first one with the activation too.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.erf
// CHECK: graph.fusion
// CHECK-NOT: graph.erf
// CHECK:   graph.contract
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @f(%x: tensor<256x512xf16>, %w: tensor<512x2048xf16>, %b: tensor<2048xf16>, %v: tensor<2048x512xf16>, %c: tensor<512xf16>) -> tensor<256x512xf16> {
  %h = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<256x512xf16>, tensor<512x2048xf16> -> tensor<256x2048xf16>
  %bb = graph.broadcast %b [1] : tensor<2048xf16> -> tensor<256x2048xf16>
  %hb = graph.add %h, %bb : tensor<256x2048xf16>
  %g = graph.gelu erf %hb : tensor<256x2048xf16>
  %o = graph.contract %g, %v batch [] x [] contract [1] x [0] : tensor<256x2048xf16>, tensor<2048x512xf16> -> tensor<256x512xf16>
  %cb = graph.broadcast %c [1] : tensor<512xf16> -> tensor<256x512xf16>
  %r = graph.add %o, %cb : tensor<256x512xf16>
  return %r : tensor<256x512xf16>
}
