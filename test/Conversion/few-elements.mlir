// Few elements with long arithmetic: one a thread, in blocks of a warp for each
// scheduler; with little arithmetic: a vector.
// RUN: split-file %s %t
// RUN: fusec compile %t/long.mlir --emit=cuda | FileCheck %s --check-prefix=LONG
// RUN: fusec compile %t/short.mlir --emit=cuda | FileCheck %s --check-prefix=SHORT
// LONG: FUSEC_KERNEL(k_{{[0-9a-f]+}}, 128)
// LONG: ldm<1>
// SHORT: FUSEC_KERNEL(k_{{[0-9a-f]+}}, 256)
// SHORT: ldm<4>
//--- long.mlir
func.func @main(%x0: tensor<4096xf32>) -> tensor<4096xf32> {
  %x1 = graph.tanh %x0 : tensor<4096xf32>
  %x2 = graph.tanh %x1 : tensor<4096xf32>
  %x3 = graph.tanh %x2 : tensor<4096xf32>
  %x4 = graph.tanh %x3 : tensor<4096xf32>
  %x5 = graph.tanh %x4 : tensor<4096xf32>
  %x6 = graph.tanh %x5 : tensor<4096xf32>
  %x7 = graph.tanh %x6 : tensor<4096xf32>
  %x8 = graph.tanh %x7 : tensor<4096xf32>
  %x9 = graph.tanh %x8 : tensor<4096xf32>
  %x10 = graph.tanh %x9 : tensor<4096xf32>
  %x11 = graph.tanh %x10 : tensor<4096xf32>
  %x12 = graph.tanh %x11 : tensor<4096xf32>
  %x13 = graph.tanh %x12 : tensor<4096xf32>
  %x14 = graph.tanh %x13 : tensor<4096xf32>
  %x15 = graph.tanh %x14 : tensor<4096xf32>
  %x16 = graph.tanh %x15 : tensor<4096xf32>
  %x17 = graph.tanh %x16 : tensor<4096xf32>
  %x18 = graph.tanh %x17 : tensor<4096xf32>
  %x19 = graph.tanh %x18 : tensor<4096xf32>
  %x20 = graph.tanh %x19 : tensor<4096xf32>
  %x21 = graph.tanh %x20 : tensor<4096xf32>
  %x22 = graph.tanh %x21 : tensor<4096xf32>
  %x23 = graph.tanh %x22 : tensor<4096xf32>
  %x24 = graph.tanh %x23 : tensor<4096xf32>
  return %x24 : tensor<4096xf32>
}
//--- short.mlir
func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %y = graph.tanh %x : tensor<4096xf32>
  return %y : tensor<4096xf32>
}
