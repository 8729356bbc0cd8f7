// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=TEXT
// RUN: fusec run %s --target=emulator --against=reference | FileCheck %s

// Scales of more digits than the weights that they make: products are rounded
// from f32, so that each weight is computed by itself. What makes a float of a
// byte, 2^15, is subtracted first.
// TEXT: kApartB = 0;
// TEXT: groups.a0.template biased<8, true>({{.*}}) - 32896.0f;
// CHECK: equal
func.func @main(%x: tensor<9x1000xbf16>, %w: tensor<1100x1000xi8>, %s: tensor<1100x1xf32>) -> tensor<9x1100xbf16> {
  %real = graph.cast %w : tensor<1100x1000xi8> -> tensor<1100x1000xf32>
  %ss = graph.broadcast %s [0, 1] : tensor<1100x1xf32> -> tensor<1100x1000xf32>
  %scaled = graph.mul %real, %ss : tensor<1100x1000xf32>
  %narrow = graph.cast %scaled : tensor<1100x1000xf32> -> tensor<1100x1000xbf16>
  %y = graph.contract %x, %narrow batch [] x [] contract [1] x [1] : tensor<9x1000xbf16>, tensor<1100x1000xbf16> -> tensor<9x1100xbf16>
  return %y : tensor<9x1100xbf16>
}
