// Rows of 384 16-bit elements fill 32 lanes by vectors of four; rows that fill
// the lanes by vectors of eight have these, however many rows there are.
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=HALF
// RUN: sed 's/16384x/1024x/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=HALF
// RUN: sed 's/384x384/384x256/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=FULL

// HALF-NOT: ld{{m?}}<8>(
// HALF: ld{{m?}}<4>(
// HALF: shfl_xor(v{{[0-9]+}}, 16)
// FULL-NOT: ld<4>(
// FULL: ld<8>(
func.func @main(%x: tensor<16384x384xbf16>) -> tensor<16384x384xbf16> {
  %0 = graph.softmax %x [1] : tensor<16384x384xbf16>
  return %0 : tensor<16384x384xbf16>
}
