// Rows of odd length start anywhere in a vector: the input's vectors are copied
// to shared memory as they lie in memory, and the output's rows are written in
// vectors from their first whole one on; blocks at an edge store by elements.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: FUSEC_SHARED(bf16, s0,
// CHECK: cp_async16(s0,
// CHECK: if (
// CHECK: ld<8>({{.*}}, p1,
// CHECK: cp_async_wait<0>();
// CHECK: bar();
// CHECK: lds<1>({{.*}}, s0,
// CHECK: st<8>(p2,
// CHECK: } else {
// CHECK: stm<1>(p2,
func.func @main(%x: tensor<2049x4095xbf16>, %y: tensor<4095x2049xbf16>) -> tensor<4095x2049xbf16> {
  %t = graph.transpose %x [1, 0] : tensor<2049x4095xbf16> -> tensor<4095x2049xbf16>
  %s = graph.add %t, %y : tensor<4095x2049xbf16>
  return %s : tensor<4095x2049xbf16>
}
