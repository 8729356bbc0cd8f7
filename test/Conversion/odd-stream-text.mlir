// A stream of odd sizes is still consecutive: vectors everywhere but in the
// last block.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: if (
// CHECK: ld<8>({{.*}}, p0,
// CHECK: st<8>(p2,
// CHECK: else
// CHECK: ldm<1>({{.*}}, p0,
// CHECK: stm<1>(p2,
func.func @main(%x: tensor<4095x4097xbf16>, %y: tensor<4095x4097xbf16>) -> tensor<4095x4097xbf16> {
  %s = graph.add %x, %y : tensor<4095x4097xbf16>
  return %s : tensor<4095x4097xbf16>
}
