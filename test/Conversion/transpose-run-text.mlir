// Three channels become the innermost axis: computed where pixels are
// contiguous, written as one run of pixels x channels.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: ldm<16>(a0, {{.*}}, p0,
// CHECK: sts<8>(s0,
// CHECK: bar();
// CHECK: stm<8>(p1,
func.func @main(%x: tensor<64x3x224x224xui8>) -> tensor<64x224x224x3xbf16> {
  %w = graph.cast %x : tensor<64x3x224x224xui8> -> tensor<64x3x224x224xbf16>
  %t = graph.transpose %w [0, 2, 3, 1] : tensor<64x3x224x224xbf16> -> tensor<64x224x224x3xbf16>
  return %t : tensor<64x224x224x3xbf16>
}
