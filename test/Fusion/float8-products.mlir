// RUN: fusec compile %s --quiet --emit=fused | FileCheck %s --check-prefix=FUSED
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=TEXT
// RUN: sed 's/contract \[1\] x \[0\]/& {graph.fast_accumulation}/' %s | fusec compile - --quiet | FileCheck %s --check-prefix=FAST
// RUN: fusec compile %s --quiet --arch=sm_80 | FileCheck %s --check-prefix=OTHER
// RUN: fusec compile %s --quiet --exact | FileCheck %s --check-prefix=OTHER

// A product of dequantised 8-bit floats on tensor cores, with scales in its
// epilogue; what lies across k is transposed by a kernel of its own. Sums are
// promoted unless said otherwise. Other machines, and other modes, have f16.
// FUSED: graph.fusion
// FUSED-NEXT: graph.transpose
// FUSED-NEXT: graph.yield
// FUSED: graph.fusion
// FUSED: graph.contract {{.*}} : tensor<1024x2048xf8E4M3FN>, tensor<2048x2048xf8E5M2> -> tensor<1024x2048xf32>
// FUSED-NOT: graph.fusion
// TEXT: const f32 (&acc)[8]
// TEXT: GemmWgmmaConfig<GemmKind::E4M3E5M2, 2, {{[0-9]+}}, {{[0-9]+}}, 8, 1, {{[12]}}, {{[12]}}>
// TEXT: FUSEC_TENSOR_MAP(mapA), FUSEC_TENSOR_MAP(mapB)
// FAST: GemmWgmmaConfig<GemmKind::E4M3E5M2, 2, {{[0-9]+}}, {{[0-9]+}}, 8, 1, {{[12]}}>
// OTHER: Config<GemmKind::F16,
func.func @main(%a: tensor<1024x2048xf8E4M3FN>, %w: tensor<2048x2048xf8E5M2>, %s: tensor<2048xf16>) -> tensor<1024x2048xf16> {
  %aw = graph.cast %a : tensor<1024x2048xf8E4M3FN> -> tensor<1024x2048xf16>
  %ww = graph.cast %w : tensor<2048x2048xf8E5M2> -> tensor<2048x2048xf16>
  %ss = graph.broadcast %s [1] : tensor<2048xf16> -> tensor<2048x2048xf16>
  %ws = graph.mul %ww, %ss : tensor<2048x2048xf16>
  %r = graph.contract %aw, %ws batch [] x [] contract [1] x [0] : tensor<1024x2048xf16>, tensor<2048x2048xf16> -> tensor<1024x2048xf16>
  return %r : tensor<1024x2048xf16>
}
