// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=TEXT
// RUN: fusec run %s --target=emulator --against=reference | FileCheck %s
// RUN: sed 's/128x64xf8E4M3FN/64x128xf8E4M3FN/; /aw =\|sms =\|am =/s/128x64x/64x128x/g; s/%%sm \[0\]/%%sm [1]/; s/contract \[1\]/contract [0]/; s/: tensor<128x64xbf16>, /: tensor<64x128xbf16>, /' %s > %t.mlir && fusec run %t.mlir --target=emulator --against=reference | FileCheck %s
// RUN: sed 's/bf16/f32/g; s/x \[1\] :/x [1] {graph.fast_accumulation} :/' %s > %t.mlir && fusec run %t.mlir --target=emulator --against=reference | FileCheck %s
// RUN: sed 's/^  %%am = \(.*\)/  %%big = graph.constant dense<16777216.0> : tensor<128x64xbf16>\n  %%as = \1\n  %%am = graph.mul %%as, %%big : tensor<128x64xbf16>/' %s > %t.mlir && fusec run %t.mlir --target=emulator --against=reference | FileCheck %s

// Scales of all sizes against each other: where a sum times the first would be
// infinite, or 0, and the second brings it back.
// TEXT: gemm_wgmma<
// CHECK: equal
func.func @main(%a: tensor<128x64xf8E4M3FN>, %b: tensor<128x64xf8E5M2>, %u: tensor<128xbf16>) -> tensor<128x128xf32> {
  %list = graph.constant dense<[3.38e38, 0.0, -0.0, 1.0, 1.1755e-38, 1.5e38, 7.5e-37, 1.0e20, 1.0e-20, -3.0e38, 1.26e30, 7.9e-31, 0.5, -448.0, 1.0e30, 1.0e-30]> : tensor<16xbf16>
  %row = graph.broadcast %list [1] : tensor<16xbf16> -> tensor<8x16xbf16>
  %column = graph.broadcast %list [0] : tensor<16xbf16> -> tensor<16x8xbf16>
  %rows = graph.reshape %row : tensor<8x16xbf16> -> tensor<128xbf16>
  %columns = graph.reshape %column : tensor<16x8xbf16> -> tensor<128xbf16>
  // Not known before the program runs.
  %zero = graph.constant dense<0.0> : tensor<128xbf16>
  %p = graph.compare le %u, %u : tensor<128xbf16>
  %sm = graph.select %p, %rows, %zero : tensor<128xi1>, tensor<128xbf16>
  %sn = graph.select %p, %columns, %zero : tensor<128xi1>, tensor<128xbf16>
  %aw = graph.cast %a : tensor<128x64xf8E4M3FN> -> tensor<128x64xbf16>
  %bw = graph.cast %b : tensor<128x64xf8E5M2> -> tensor<128x64xbf16>
  %sms = graph.broadcast %sm [0] : tensor<128xbf16> -> tensor<128x64xbf16>
  %sns = graph.broadcast %sn [0] : tensor<128xbf16> -> tensor<128x64xbf16>
  %am = graph.mul %aw, %sms : tensor<128x64xbf16>
  %bm = graph.mul %bw, %sns : tensor<128x64xbf16>
  %r = graph.contract %am, %bm batch [] x [] contract [1] x [1] : tensor<128x64xbf16>, tensor<128x64xbf16> -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
