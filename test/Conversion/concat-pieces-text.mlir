// Halves that are computed from each other are made side by side: each is read
// once, and no element is chosen from two.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: ld_pair<8, 64>({{.*}}, p0,
// CHECK-NOT: p0,
// CHECK-NOT: ? {{.*}} :
// CHECK: stm_pair<8, 64>(p1,
func.func @main(%x: tensor<4096x32x128xbf16>) -> tensor<4096x32x128xbf16> {
  %low = graph.slice %x offsets [0, 0, 0] strides [1, 1, 1] : tensor<4096x32x128xbf16> -> tensor<4096x32x64xbf16>
  %high = graph.slice %x offsets [0, 0, 64] strides [1, 1, 1] : tensor<4096x32x128xbf16> -> tensor<4096x32x64xbf16>
  %a = graph.sub %low, %high : tensor<4096x32x64xbf16>
  %b = graph.add %low, %high : tensor<4096x32x64xbf16>
  %y = graph.concat %a, %b axis = 2 : tensor<4096x32x64xbf16>, tensor<4096x32x64xbf16> -> tensor<4096x32x128xbf16>
  return %y : tensor<4096x32x128xbf16>
}
