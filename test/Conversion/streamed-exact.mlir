// RUN: %python %S/Inputs/bytes.py %t.npy 1024 32 32
// RUN: %python %S/Inputs/bytes.py %t.half.npy 1024 512
// RUN: fusec compile %s --quiet | FileCheck %s
// RUN: fusec run %s --input=%t.npy --input=%t.half.npy --target=emulator --against=reference --rtol=0 --atol=0 | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/bf16/f16/g' %s | fusec run - --input=%t.npy --input=%t.half.npy --target=emulator --against=reference --rtol=0 --atol=0 | FileCheck %s --check-prefix=RIGHT

// Rows of the identity, negated or twice for products of their own, read the weights back as they are multiplied: small
// integers of all values, less a zero point, times a scale and rounded once,
// which pairs of 16-bit floats do without another rounding.
// CHECK-DAG: out[r0] = gemmTimes<bf16>(gemmLess<bf16>(groups.a0.template fields<bf16, 8, false, 0>(
// CHECK-DAG: out[r0] = groups.a0.template fields<bf16, 8, false, 128>(
// CHECK-DAG: kApartB = 4;
// CHECK-DAG: out[r0] = gemmTimes<bf16>(groups.a0.template fields<bf16, 4, false, 7>({{.*}} ? 0 : 4)), gemmTwice(
// RIGHT-COUNT-3: equal, largest error 0 relative, 0 absolute
func.func @main(%w: tensor<1024x32x32xui8>, %h: tensor<1024x512xui8>, %s: tensor<1024x32x1xbf16>, %z: tensor<1024x32x1xui8>) -> (tensor<32x1024xbf16>, tensor<32x1024xbf16>, tensor<32x1024xbf16>) {
  %rows = graph.iota 0 : tensor<32x1024xi32>
  %columns = graph.iota 1 : tensor<32x1024xi32>
  %same = graph.compare eq %rows, %columns : tensor<32x1024xi32>
  %x = graph.cast %same : tensor<32x1024xi1> -> tensor<32x1024xbf16>
  %x1 = graph.neg %x : tensor<32x1024xbf16>
  %x2 = graph.add %x, %x : tensor<32x1024xbf16>
  %ss = graph.broadcast %s [0, 1, 2] : tensor<1024x32x1xbf16> -> tensor<1024x32x32xbf16>

  %real = graph.cast %w : tensor<1024x32x32xui8> -> tensor<1024x32x32xbf16>
  %zero = graph.cast %z : tensor<1024x32x1xui8> -> tensor<1024x32x1xbf16>
  %zeros = graph.broadcast %zero [0, 1, 2] : tensor<1024x32x1xbf16> -> tensor<1024x32x32xbf16>
  %less = graph.sub %real, %zeros : tensor<1024x32x32xbf16>
  %scaled = graph.mul %less, %ss : tensor<1024x32x32xbf16>
  %flat = graph.reshape %scaled : tensor<1024x32x32xbf16> -> tensor<1024x1024xbf16>
  %y = graph.contract %x, %flat batch [] x [] contract [1] x [1] : tensor<32x1024xbf16>, tensor<1024x1024xbf16> -> tensor<32x1024xbf16>

  %middle = graph.constant dense<128.0> : tensor<bf16>
  %middles = graph.broadcast %middle [] : tensor<bf16> -> tensor<1024x32x32xbf16>
  %centred = graph.sub %real, %middles : tensor<1024x32x32xbf16>
  %flat1 = graph.reshape %centred : tensor<1024x32x32xbf16> -> tensor<1024x1024xbf16>
  %y1 = graph.contract %x1, %flat1 batch [] x [] contract [1] x [1] : tensor<32x1024xbf16>, tensor<1024x1024xbf16> -> tensor<32x1024xbf16>

  %f = graph.constant dense<15> : tensor<ui8>
  %fs = graph.broadcast %f [] : tensor<ui8> -> tensor<1024x512xui8>
  %low = graph.and %h, %fs : tensor<1024x512xui8>
  %low1 = graph.reshape %low : tensor<1024x512xui8> -> tensor<1024x512x1xui8>
  %four = graph.constant dense<4> : tensor<ui8>
  %fours = graph.broadcast %four [] : tensor<ui8> -> tensor<1024x512xui8>
  %high = graph.shr %h, %fours : tensor<1024x512xui8>
  %high1 = graph.reshape %high : tensor<1024x512xui8> -> tensor<1024x512x1xui8>
  %both = graph.concat %high1, %low1 axis = 2 : tensor<1024x512x1xui8>, tensor<1024x512x1xui8> -> tensor<1024x512x2xui8>
  %q = graph.reshape %both : tensor<1024x512x2xui8> -> tensor<1024x32x32xui8>
  %real2 = graph.cast %q : tensor<1024x32x32xui8> -> tensor<1024x32x32xbf16>
  %seven = graph.constant dense<7.0> : tensor<bf16>
  %sevens = graph.broadcast %seven [] : tensor<bf16> -> tensor<1024x32x32xbf16>
  %centred2 = graph.sub %real2, %sevens : tensor<1024x32x32xbf16>
  %scaled2 = graph.mul %centred2, %ss : tensor<1024x32x32xbf16>
  %flat2 = graph.reshape %scaled2 : tensor<1024x32x32xbf16> -> tensor<1024x1024xbf16>
  %y2 = graph.contract %x2, %flat2 batch [] x [] contract [1] x [1] : tensor<32x1024xbf16>, tensor<1024x1024xbf16> -> tensor<32x1024xbf16>
  return %y, %y1, %y2 : tensor<32x1024xbf16>, tensor<32x1024xbf16>, tensor<32x1024xbf16>
}
