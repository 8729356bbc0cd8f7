// Heads are brought in front of the rows: pieces still lie along the last axis,
// and what three places of a row read is no stencil.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: ld_pair<8, 64>({{.*}}, p0,
// CHECK-NOT: p0,
// CHECK-NOT: ? {{.*}} :
// CHECK: stm_pair<8, 64>(p1,
func.func @main(%x: tensor<2x512x32x128xbf16>) -> tensor<2x32x512x128xbf16> {
  %low = graph.slice %x offsets [0, 0, 0, 0] strides [1, 1, 1, 1] : tensor<2x512x32x128xbf16> -> tensor<2x512x32x64xbf16>
  %high = graph.slice %x offsets [0, 0, 0, 64] strides [1, 1, 1, 1] : tensor<2x512x32x128xbf16> -> tensor<2x512x32x64xbf16>
  %a = graph.sub %low, %high : tensor<2x512x32x64xbf16>
  %b = graph.add %low, %high : tensor<2x512x32x64xbf16>
  %c = graph.concat %a, %b axis = 3 : tensor<2x512x32x64xbf16>, tensor<2x512x32x64xbf16> -> tensor<2x512x32x128xbf16>
  %y = graph.transpose %c [0, 2, 1, 3] : tensor<2x512x32x128xbf16> -> tensor<2x32x512x128xbf16>
  return %y : tensor<2x32x512x128xbf16>
}
