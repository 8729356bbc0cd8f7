// What is rounded to 16 bits or fewer is computed in fewer instructions:
// products and sums contract, 1 + erf(x) is erfc(-x), the sigmoid's divisor lies
// in [1, 2]. In exact mode everything stays as the ops say.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: fusec compile %s --emit=cuda --quiet --exact | FileCheck %s --check-prefix=EXACT

// CHECK: const f32 [[V:v[0-9]+]] = m_fma(
// CHECK: m_erfc_near(
// CHECK-NOT: m_erf(
// CHECK: m_exp_near(
// CHECK: m_div_by_sum(
// EXACT-NOT: _near(
// EXACT-NOT: m_fma(
// EXACT: m_erf(
// EXACT: m_exp(

func.func @main(%x: tensor<4096x4096xbf16>, %y: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %a = graph.mul %x, %x : tensor<4096x4096xbf16>
  %b = graph.add %a, %y : tensor<4096x4096xbf16>
  %c = graph.gelu erf %b : tensor<4096x4096xbf16>
  %d = graph.logistic %y : tensor<4096x4096xbf16>
  %e = graph.mul %c, %d : tensor<4096x4096xbf16>
  return %e : tensor<4096x4096xbf16>
}
