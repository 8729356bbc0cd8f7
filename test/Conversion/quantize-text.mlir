// Quotients that saturate need no slow path, and an 8-bit float is clamped by
// its conversion, once. A zero point of 0 is not added.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: const f32 [[Q:v[0-9]+]] = m_div_bounded(
// CHECK: const f8e4m3 [[S:v[0-9]+]] = from_f32_sat<f8e4m3>([[Q]]);
// CHECK-NOT: from_f32<f8e4m3>
// CHECK: stm<16>(
func.func @main(%x: tensor<8192x8192xbf16>, %s: tensor<f32>) -> tensor<8192x8192xf8E4M3FN> {
  %scale = graph.broadcast %s [] : tensor<f32> -> tensor<8192x8192xf32>
  %zero = graph.constant dense<0.0> : tensor<8192x8192xf8E4M3FN>
  %y = graph.quantize %x, %scale, %zero : tensor<8192x8192xbf16>, tensor<8192x8192xf32>, tensor<8192x8192xf8E4M3FN> -> tensor<8192x8192xf8E4M3FN>
  return %y : tensor<8192x8192xf8E4M3FN>
}
