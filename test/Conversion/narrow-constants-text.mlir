// The scale of a norm is a constant in f32 whose values f16 holds, as x is: it
// is kept and read so, and widened by the thread that has it. So it is in bf16;
// where it has more digits, or x is in f32, it stays.
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=HALF
// RUN: sed 's/f16/bf16/g; s/dense<\[-3.0,/dense<[131072.0,/' %s | fusec compile - --quiet | FileCheck %s --check-prefix=BRAIN
// RUN: sed 's/dense<\[-3.0,/dense<[0.1,/' %s | fusec compile - --quiet | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/f16/f32/g; /graph.cast/d; s/%w/%x/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=SINGLE

// HALF: FUSEC_KERNEL({{.*}}const f16 *p0, const f16 *p1, f32 *p2
// HALF: ld<{{.*}}p1,
// BRAIN: FUSEC_KERNEL({{.*}}const bf16 *p0, const bf16 *p1, f32 *p2
// WIDE: FUSEC_KERNEL({{.*}}const f16 *p0, const f32 *p1, f32 *p2
// SINGLE: FUSEC_KERNEL({{.*}}(const f32) p0, FUSEC_ROWS(const f32) p1
func.func @main(%x: tensor<64x32xf16>) -> tensor<64x32xf32> {
  %g = graph.constant dense<[-3.0, -2.75, -2.5, -2.25, -2.0, -1.75, -1.5, -1.25, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0, 4.25, 4.5, 4.75]> : tensor<32xf32>
  %w = graph.cast %x : tensor<64x32xf16> -> tensor<64x32xf32>
  %q = graph.mul %w, %w : tensor<64x32xf32>
  %m = graph.reduce sum %q [1] : tensor<64x32xf32> -> tensor<64xf32>
  %r = graph.rsqrt %m : tensor<64xf32>
  %b = graph.broadcast %r [0] : tensor<64xf32> -> tensor<64x32xf32>
  %n = graph.mul %w, %b : tensor<64x32xf32>
  %s = graph.broadcast %g [1] : tensor<32xf32> -> tensor<64x32xf32>
  %y = graph.mul %n, %s : tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
