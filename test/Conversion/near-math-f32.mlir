// f32 is computed as the ops say: no contraction, no approximation.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK-NOT: m_fma(
// CHECK-NOT: _near(
// CHECK: m_erf(
// CHECK-NOT: m_fma(
// CHECK-NOT: _near(
// CHECK: FUSEC_EXPORT
func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %a = graph.mul %x, %x : tensor<4096x4096xf32>
  %b = graph.add %a, %y : tensor<4096x4096xf32>
  %c = graph.gelu erf %b : tensor<4096x4096xf32>
  return %c : tensor<4096x4096xf32>
}
