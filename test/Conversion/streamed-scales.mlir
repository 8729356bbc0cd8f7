// RUN: printf '\010\004\020\020\112\010\070\170\054\170\070\370\000\077' > %t.pb
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=TEXT
// RUN: fusec run %s --target=emulator --against=reference --input=s=%t.pb | FileCheck %s

// Weights times scales of 1.5e34, which the TensorProto has beside 0.5: what
// makes a float of a byte, 2^15, must not be multiplied by these. 1000 is no
// whole number of steps of k.
// TEXT: fields<bf16, 8, true, 0>
// CHECK-NOT: nan
// CHECK: equal
func.func @main(%x: tensor<9x1000xbf16>, %w: tensor<4x64x1000xi8>, %s: tensor<4xbf16> {graph.name = "s"}) -> tensor<9x4x64xbf16> {
  %real = graph.cast %w : tensor<4x64x1000xi8> -> tensor<4x64x1000xbf16>
  %ss = graph.broadcast %s [0] : tensor<4xbf16> -> tensor<4x64x1000xbf16>
  %scaled = graph.mul %real, %ss : tensor<4x64x1000xbf16>
  %y = graph.contract %x, %scaled batch [] x [] contract [1] x [2] : tensor<9x1000xbf16>, tensor<4x64x1000xbf16> -> tensor<9x4x64xbf16>
  return %y : tensor<9x4x64xbf16>
}
