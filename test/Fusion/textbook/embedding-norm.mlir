// Rows of tables, their sum and its norm are one kernel; rows are read as
// vectors of 16 bytes.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK-COUNT-2: graph.gather
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda 2>/dev/null | FileCheck %s --check-prefix=TEXT
// TEXT: ld<1>(a{{[0-9]+}}, 0, p1,
// TEXT: ldm<8>(a{{[0-9]+}}, r{{[0-9]+}}, p0,
// TEXT: ldm<8>(a{{[0-9]+}}, r{{[0-9]+}}, p2,
func.func @f(%i: tensor<32x128xi64>, %j: tensor<32x128xi64>, %words: tensor<1000x768xf16>, %kinds: tensor<2x768xf16>, %places: tensor<128x768xf16>, %g: tensor<768xf16>, %b: tensor<768xf16>) -> tensor<32x128x768xf16> {
  %0 = graph.gather %words, %i axis = 0 : tensor<1000x768xf16>, tensor<32x128xi64> -> tensor<32x128x768xf16>
  %1 = graph.gather %kinds, %j axis = 0 : tensor<2x768xf16>, tensor<32x128xi64> -> tensor<32x128x768xf16>
  %2 = graph.add %0, %1 : tensor<32x128x768xf16>
  %3 = graph.broadcast %places [1, 2] : tensor<128x768xf16> -> tensor<32x128x768xf16>
  %4 = graph.add %2, %3 : tensor<32x128x768xf16>
  %5 = graph.layer_norm %4, %g, %b axis = 2 epsilon = 1.0e-5 : tensor<32x128x768xf16>, tensor<768xf16>, tensor<768xf16>
  return %5 : tensor<32x128x768xf16>
}
