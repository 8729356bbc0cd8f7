// A depthwise convolution of a channels-last image marches with lanes along the
// channels; columns that windows share are in a thread's registers.
// RUN: fusec compile %s --emit=tile | FileCheck %s
// CHECK: #tile.layout<reg = [10:1:1], lane = [32:1:2]
// CHECK-NOT: tile.alloc
// CHECK: tile.shift
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=CUDA
// CUDA-NOT: shfl
// CUDA: FUSEC_EXPORT
func.func @f(%x: tensor<8x56x56x96xbf16>, %k: tensor<3x3x1x96xbf16>) -> tensor<8x56x56x96xbf16> {
  %0 = graph.convolution %x, %k strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = 96 : tensor<8x56x56x96xbf16>, tensor<3x3x1x96xbf16> -> tensor<8x56x56x96xbf16>
  return %0 : tensor<8x56x56x96xbf16>
}
