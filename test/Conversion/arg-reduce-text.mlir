// A narrow value and its index are one number: an element costs one comparison.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: m_plain_bits(
// CHECK-NOT: f32 a{{[0-9]+}}[1]
// CHECK: i_max(
// CHECK: shfl_xor(
func.func @main(%x: tensor<32768x8192xbf16>) -> tensor<32768xi64> {
  %i = graph.arg_reduce max %x dimension = 1 : tensor<32768x8192xbf16> -> tensor<32768xi64>
  return %i : tensor<32768xi64>
}
