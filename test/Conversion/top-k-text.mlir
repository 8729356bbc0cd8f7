// A warp has one list of a row, dealt out to its lanes. Elements are packed with
// their places, and merged, where a lane has one that is not below the last; no
// barrier.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: FUSEC_DEVICE void select_greatest(
// CHECK: FUSEC_KERNEL
// CHECK-SAME: 256)
// CHECK: deal_list<1, 32>(
// CHECK: for (i32 {{.*}} < 8192;
// CHECK: any(
// CHECK: if (
// CHECK: m_plain_bits(
// CHECK: select_greatest<2, 1, 32>(
// CHECK: collect_list<1, 32>(
// CHECK-NOT: bar();
// CHECK: FUSEC_EXPORT
func.func @main(%x: tensor<32768x8192xbf16>) -> (tensor<32768xi64>, tensor<32768xi64>) {
  %i:2 = graph.top_k max %x dimension = 1 : tensor<32768x8192xbf16> -> tensor<32768xi64>, tensor<32768xi64>
  return %i#0, %i#1 : tensor<32768xi64>, tensor<32768xi64>
}
