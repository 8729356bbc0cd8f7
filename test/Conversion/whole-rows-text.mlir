// Two rows of 64 a warp. Where every block has both, their loads are not
// masked.
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/64x8x64/65x7x64/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=TAIL

// WHOLE-NOT: ldm<
// WHOLE: ld<4>(
// WHOLE-NOT: ldm<
// TAIL: < n0;
// TAIL: ldm<4>(
func.func @main(%x: tensor<64x8x64xf32>) -> tensor<64x8x64xf32> {
  %0 = graph.softmax %x [2] : tensor<64x8x64xf32>
  return %0 : tensor<64x8x64xf32>
}
