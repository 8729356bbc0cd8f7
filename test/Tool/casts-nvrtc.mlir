// Casts from integers to narrow floats compile: such types have no conversion
// of their own.
// REQUIRES: nvrtc
// RUN: fusec compile %s --emit=ptx | FileCheck %s
// CHECK: .entry
func.func @casts(%a: tensor<64xi64>, %b: tensor<64xui32>, %c: tensor<64xi1>) -> (tensor<64xf16>, tensor<64xbf16>, tensor<64xf16>) {
  %x = graph.cast %a : tensor<64xi64> -> tensor<64xf16>
  %y = graph.cast %b : tensor<64xui32> -> tensor<64xbf16>
  %z = graph.cast %c : tensor<64xi1> -> tensor<64xf16>
  return %x, %y, %z : tensor<64xf16>, tensor<64xbf16>, tensor<64xf16>
}
