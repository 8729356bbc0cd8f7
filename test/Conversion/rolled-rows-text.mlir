// Columns of %x, %g and the first result may come in any order, so that views
// that start anywhere in a vector are taken as they lie in memory. %s and the
// sums have one value a row. The text does not say how long rows are.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: fusec compile %s --emit=cuda --batch-invariant --quiet | FileCheck %s --check-prefix=FIXED

// CHECK: FUSEC_KERNEL({{.*}})(FUSEC_ROWS(const bf16) p0, const f32 *p1, FUSEC_ROWS(const bf16) p2, f32 *p3, FUSEC_ROWS(bf16) p4, i32 n0)
// Sums do not depend on where rows start.
// FIXED-NOT: FUSEC_ROWS
func.func @main(%x: tensor<512x768xbf16>, %g: tensor<768xbf16>, %s: tensor<512xf32>) -> (tensor<512x768xbf16>, tensor<512xf32>) {
  %0 = graph.cast %x : tensor<512x768xbf16> -> tensor<512x768xf32>
  %1 = graph.reduce sum %0 [1] : tensor<512x768xf32> -> tensor<512xf32>
  %2 = graph.mul %1, %s : tensor<512xf32>
  %3 = graph.broadcast %2 [0] : tensor<512xf32> -> tensor<512x768xf32>
  %4 = graph.sub %0, %3 : tensor<512x768xf32>
  %5 = graph.broadcast %g [1] : tensor<768xbf16> -> tensor<512x768xbf16>
  %6 = graph.cast %5 : tensor<512x768xbf16> -> tensor<512x768xf32>
  %7 = graph.mul %4, %6 : tensor<512x768xf32>
  %8 = graph.cast %7 : tensor<512x768xf32> -> tensor<512x768xbf16>
  return %8, %1 : tensor<512x768xbf16>, tensor<512xf32>
}
