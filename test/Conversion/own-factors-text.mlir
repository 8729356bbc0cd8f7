// Weights of channels that lie across the lanes are a lane's own, and four are
// too few to ask for.
// RUN: fusec compile %s --arch=sm_90a --quiet | FileCheck %s
// RUN: fusec compile %S/Inputs/few-factors.mlir --arch=sm_90a --quiet | FileCheck %s

// CHECK: ld
// CHECK-NOT: shfl_idx(
// CHECK: FUSEC_EXPORT
func.func @main(%x: tensor<2x13x11x72xf16>, %w: tensor<3x3x1x72xf16>) -> tensor<2x13x11x72xf16> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = 72 : tensor<2x13x11x72xf16>, tensor<3x3x1x72xf16> -> tensor<2x13x11x72xf16>
  return %y : tensor<2x13x11x72xf16>
}
