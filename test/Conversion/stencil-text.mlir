// Tiles that touch no border run a version of their own: it computes what it
// stages without a test, and reads it without one.
// RUN: fusec compile %s --quiet | FileCheck %s

// CHECK: FUSEC_SHARED(f32, s0,
// CHECK: if (v{{[0-9]+}}) {
// CHECK: ld<1>(
// CHECK: {{^ *}}sts<1>(s0,
// CHECK: bar();
// CHECK: lds<1>(
// CHECK: } else {
// CHECK: ldm<1>(
// CHECK: {{^ *}}if (v{{[0-9]+}}) sts<1>(s0,
// CHECK: bar();
// CHECK: v{{[0-9]+}} ? lds(s0,
func.func @main(%x: tensor<2048x2048xf32>) -> tensor<1024x1024xf32> {
  %a = graph.window_reduce max %x window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  %b = graph.window_reduce max %a window [3, 3] strides [2, 2] dilations [1, 1] low [1, 1] high [0, 0] : tensor<2048x2048xf32> -> tensor<1024x1024xf32>
  return %b : tensor<1024x1024xf32>
}
