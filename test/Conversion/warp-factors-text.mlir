// Weights of marching windows that a warp shares are said to be lane 0's, each
// once, before the rows: they take uniform registers.
// RUN: fusec compile %s --arch=sm_90a --quiet | FileCheck %s

// CHECK: ld<1>([[W:a[0-9]+]], 0, p1,
// CHECK: [[V:v[0-9]+]] = to_f32(
// CHECK: [[F:v[0-9]+]] = [[A:a[0-9]+]][0];
// CHECK: [[S:v[0-9]+]] = shfl_idx([[F]], 0);
// CHECK: [[A]][0] = [[S]];
// CHECK-COUNT-8: shfl_idx(
// CHECK-NOT: shfl_idx(
func.func @main(%x: tensor<1x3x140x200xf16>, %w: tensor<3x1x3x3xf16>) -> tensor<1x3x140x200xf16> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 3 : tensor<1x3x140x200xf16>, tensor<3x1x3x3xf16> -> tensor<1x3x140x200xf16>
  return %y : tensor<1x3x140x200xf16>
}
