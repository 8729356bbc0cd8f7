// Quotients that saturate need no slow path, and an 8-bit float is clamped by
// its conversion, once. A zero point of 0 is not added.
// RUN: split-file %s %t
// RUN: fusec compile %t/float8.mlir --emit=cuda --quiet | FileCheck %s
// RUN: fusec compile %t/product.mlir --emit=cuda --quiet | FileCheck %s --check-prefix=PRODUCT

// CHECK: const f32 [[Q:v[0-9]+]] = m_div_bounded(
// CHECK: const f8e4m3 [[S:v[0-9]+]] = from_f32_sat<f8e4m3>([[Q]]);
// CHECK-NOT: from_f32<f8e4m3>
// CHECK: stm<16>(

// Sums of a product of bytes become bf16 and bytes again without f64, two at a
// time, as instructions are for pairs; one conversion rounds and clamps.
// PRODUCT-NOT: f64
// PRODUCT: rounded_bf16_pair({{v[0-9]+}}, {{v[0-9]+}}, to_f32_odd({{.*}}), to_f32_odd(
// PRODUCT: const f32 [[P:v[0-9]+]] = m_div_bounded(
// PRODUCT-NEXT: const f32 [[Q:v[0-9]+]] = m_div_bounded(
// PRODUCT: rint_sat_pair({{v[0-9]+}}, {{v[0-9]+}}, [[P]], [[Q]]);

//--- float8.mlir
func.func @main(%x: tensor<8192x8192xbf16>, %s: tensor<f32>) -> tensor<8192x8192xf8E4M3FN> {
  %scale = graph.broadcast %s [] : tensor<f32> -> tensor<8192x8192xf32>
  %zero = graph.constant dense<0.0> : tensor<8192x8192xf8E4M3FN>
  %y = graph.quantize %x, %scale, %zero : tensor<8192x8192xbf16>, tensor<8192x8192xf32>, tensor<8192x8192xf8E4M3FN> -> tensor<8192x8192xf8E4M3FN>
  return %y : tensor<8192x8192xf8E4M3FN>
}

//--- product.mlir
func.func @main(%x: tensor<256x256xi8>, %w: tensor<256x256xi8>, %s: tensor<bf16>, %t: tensor<bf16>) -> tensor<256x256xi8> {
  %x32 = graph.cast %x : tensor<256x256xi8> -> tensor<256x256xi32>
  %w32 = graph.cast %w : tensor<256x256xi8> -> tensor<256x256xi32>
  %p = graph.contract %x32, %w32 batch [] x [] contract [1] x [1] : tensor<256x256xi32>, tensor<256x256xi32> -> tensor<256x256xi32>
  %pb = graph.cast %p : tensor<256x256xi32> -> tensor<256x256xbf16>
  %sb = graph.broadcast %s [] : tensor<bf16> -> tensor<256x256xbf16>
  %h = graph.mul %pb, %sb : tensor<256x256xbf16>
  %g = graph.gelu tanh %h : tensor<256x256xbf16>
  %tb = graph.broadcast %t [] : tensor<bf16> -> tensor<256x256xbf16>
  %zero = graph.constant dense<0> : tensor<256x256xi8>
  %y = graph.quantize %g, %tb, %zero : tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256x256xi8> -> tensor<256x256xi8>
  return %y : tensor<256x256xi8>
}
