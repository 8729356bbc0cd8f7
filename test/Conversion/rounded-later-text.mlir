// Arithmetic in f32 that only a cast to 16 bits reads: what is cast itself, and
// its factors, are as near as in 16 bits; powers below a difference are exact
// but for one more rounding of their operand. What is stored, too, is not.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: fusec compile %s --emit=cuda --quiet --exact | FileCheck %s --check-prefix=EXACT

// CHECK: m_exp_near(
// CHECK: m_div_by_sum(
// CHECK: m_exp_part(
// CHECK: m_exp(
// CHECK-NOT: m_exp
// EXACT-COUNT-3: m_exp(
// EXACT-NOT: m_exp_
func.func @main(%x: tensor<512x512xf32>) -> (tensor<512x512xbf16>, tensor<512x512xbf16>, tensor<512x512xf32>, tensor<512x512xbf16>) {
  %a = graph.silu %x : tensor<512x512xf32>
  %b = graph.cast %a : tensor<512x512xf32> -> tensor<512x512xbf16>
  %c = graph.exp %x : tensor<512x512xf32>
  %d = graph.sub %c, %x : tensor<512x512xf32>
  %e = graph.cast %d : tensor<512x512xf32> -> tensor<512x512xbf16>
  %n = graph.neg %x : tensor<512x512xf32>
  %f = graph.exp %n : tensor<512x512xf32>
  %g = graph.cast %f : tensor<512x512xf32> -> tensor<512x512xbf16>
  return %b, %e, %f, %g : tensor<512x512xbf16>, tensor<512x512xbf16>, tensor<512x512xf32>, tensor<512x512xbf16>
}
