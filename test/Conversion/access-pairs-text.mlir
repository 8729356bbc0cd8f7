// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// Halves of a rotary embedding are rows that follow each other: each thread has
// the same columns of both, and accesses them at once.
// CHECK-LABEL: FUSEC_KERNEL
// CHECK-NOT:     ld<8>({{.*}}, p0
// CHECK:         ld_pair<8, 64>([[LOW:a[0-9]+]], 0, [[HIGH:a[0-9]+]], 0, p0, [[AT:v[0-9]+]]);
// CHECK-NOT:     stm<8>
// CHECK:         stm_pair<8, 64>(p3, [[AT]], {{a[0-9]+}}, 0, {{a[0-9]+}}, 0, {{v[0-9]+}});
// CHECK-NOT:     {{stm?<}}
func.func @halves(%x: tensor<4096x128xbf16>, %cos: tensor<4096x64xf32>, %sin: tensor<4096x64xf32>) -> tensor<4096x128xbf16> {
  %0 = graph.slice %x offsets [0, 0] strides [1, 1] : tensor<4096x128xbf16> -> tensor<4096x64xbf16>
  %1 = graph.slice %x offsets [0, 64] strides [1, 1] : tensor<4096x128xbf16> -> tensor<4096x64xbf16>
  %2 = graph.cast %0 : tensor<4096x64xbf16> -> tensor<4096x64xf32>
  %3 = graph.cast %1 : tensor<4096x64xbf16> -> tensor<4096x64xf32>
  %4 = graph.mul %2, %cos : tensor<4096x64xf32>
  %5 = graph.mul %3, %sin : tensor<4096x64xf32>
  %6 = graph.sub %4, %5 : tensor<4096x64xf32>
  %7 = graph.mul %3, %cos : tensor<4096x64xf32>
  %8 = graph.mul %2, %sin : tensor<4096x64xf32>
  %9 = graph.add %7, %8 : tensor<4096x64xf32>
  %10 = graph.concat %6, %9 axis = 1 : tensor<4096x64xf32>, tensor<4096x64xf32> -> tensor<4096x128xf32>
  %11 = graph.cast %10 : tensor<4096x128xf32> -> tensor<4096x128xbf16>
  return %11 : tensor<4096x128xbf16>
}
