// A warp has one list of a row and puts tiles of packed numbers into it; no
// barrier. Few rows are divided, and lists of warps and blocks meet.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: FUSEC_DEVICE void select_greatest(
// CHECK: FUSEC_KERNEL
// CHECK-SAME: 256)
// CHECK: m_plain_bits(
// CHECK: select_greatest<1, 32>(a{{[0-9]+}}, a{{[0-9]+}});
// CHECK-NOT: bar();
// CHECK: FUSEC_EXPORT
func.func @main(%x: tensor<32768x8192xbf16>) -> (tensor<32768xi64>, tensor<32768xi64>) {
  %i:2 = graph.top_k max %x dimension = 1 : tensor<32768x8192xbf16> -> tensor<32768xi64>, tensor<32768xi64>
  return %i#0, %i#1 : tensor<32768xi64>, tensor<32768xi64>
}
