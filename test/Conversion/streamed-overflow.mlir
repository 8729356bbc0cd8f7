// RUN: %python -c "import sys; h = b\"{'descr': '<V2', 'fortran_order': False, 'shape': (96, 16, 1), }\".ljust(117) + b'\n'; open(sys.argv[1], 'wb').write(b'\x93NUMPY\x01\x00' + len(h).to_bytes(2, 'little') + h + (b'\x80\x3f' * 7 + b'\x62\x7f' + b'\x80\x3f' * 8) * 96)" %t.npy
// RUN: fusec run %s --target=emulator --against=reference --input=s=%t.npy | FileCheck %s
// RUN: sed s/17x/4x/g %s | fusec run - --target=emulator --against=reference --input=s=%t.npy | FileCheck %s

// A scale of 3e38 among ones: weights beyond bf16 are infinite, as the graph
// rounds them, so sums have infinities of both signs, and not what sums of
// smaller weights are when they are scaled afterwards.
// CHECK: against reference
// CHECK-NEXT: nan
// CHECK: equal
func.func @main(%x: tensor<17x512xbf16>, %w: tensor<96x256xui8>, %s: tensor<96x16x1xbf16> {graph.name = "s"}) -> tensor<17x96xbf16> {
  %c15 = graph.constant dense<15> : tensor<96x256xui8>
  %c4 = graph.constant dense<4> : tensor<96x256xui8>
  %c8 = graph.constant dense<8.0> : tensor<96x16x32xbf16>
  %low = graph.and %w, %c15 : tensor<96x256xui8>
  %high = graph.shr %w, %c4 : tensor<96x256xui8>
  %l = graph.reshape %low : tensor<96x256xui8> -> tensor<96x256x1xui8>
  %h = graph.reshape %high : tensor<96x256xui8> -> tensor<96x256x1xui8>
  %both = graph.concat %l, %h axis = 2 : tensor<96x256x1xui8>, tensor<96x256x1xui8> -> tensor<96x256x2xui8>
  %blocks = graph.reshape %both : tensor<96x256x2xui8> -> tensor<96x16x32xui8>
  %real = graph.cast %blocks : tensor<96x16x32xui8> -> tensor<96x16x32xbf16>
  %ss = graph.broadcast %s [0, 1, 2] : tensor<96x16x1xbf16> -> tensor<96x16x32xbf16>
  %less = graph.sub %real, %c8 : tensor<96x16x32xbf16>
  %scaled = graph.mul %less, %ss : tensor<96x16x32xbf16>
  %flat = graph.reshape %scaled : tensor<96x16x32xbf16> -> tensor<96x512xbf16>
  %y = graph.contract %x, %flat batch [] x [] contract [1] x [1] : tensor<17x512xbf16>, tensor<96x512xbf16> -> tensor<17x96xbf16>
  return %y : tensor<17x96xbf16>
}
