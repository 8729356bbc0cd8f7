// RUN: fusec compile %s --quiet | FileCheck %s
// RUN: sed 's/tensor<16x/tensor<1x/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=ROW
// RUN: sed 's/tensor<16x/tensor<19x/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=RING
// RUN: fusec explain %s | FileCheck %s --check-prefix=ONE
// RUN: fusec run %s --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/tensor<16x/tensor<1x/g' %s | fusec run - --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/tensor<16x/tensor<19x/g' %s | fusec run - --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT

// Weights of 4 bits, two in a byte, with a scale for 32: one copy brings 32 of
// them, the scale is read once for these, no integer is converted, two become a
// pair of floats less the zero point in two instructions, and a third scales them.
// CHECK: kVectorB = 32;
// CHECK-NEXT: kStagedB = 1;
// CHECK: GemmPacked<i8, 16, 16> a0
// CHECK: GroupsB loadB(
// CHECK: groups.a0.load(
// CHECK: RawB { GemmPacked<bf16, 1, 1> a1; }
// CHECK: raw.a1.load(0,
// CHECK: void convertB(
// CHECK: out[r0] = gemmTimes<bf16>(groups.a0.template fields<bf16, 4, false, 8>({{.*}}), gemmTwice(
// CHECK: GemmDirectConfig<GemmKind::BF16, 16, {{.*}}, 32, 1024>
// ROW: GemmDirectConfig<GemmKind::BF16, 1, {{.*}}, 32, 1024>
// More rows than A has room for: copies go through a ring.
// RING: void stageB(
// RING: gemm_stage<8>(at + 0,
// RING: GemmFewConfig<GemmKind::BF16, 32, {{.*}}, 16, 1>
// ONE: -> 1 fused
// RIGHT: equal
func.func @main(%x: tensor<16x1024xbf16>, %w: tensor<1056x512xui8>, %s: tensor<1056x32xbf16>) -> tensor<16x1056xbf16> {
  %f = graph.constant dense<15> : tensor<ui8>
  %fs = graph.broadcast %f [] : tensor<ui8> -> tensor<1056x512xui8>
  %low = graph.and %w, %fs : tensor<1056x512xui8>
  %low1 = graph.reshape %low : tensor<1056x512xui8> -> tensor<1056x512x1xui8>
  %four = graph.constant dense<4> : tensor<ui8>
  %fours = graph.broadcast %four [] : tensor<ui8> -> tensor<1056x512xui8>
  %high = graph.shr %w, %fours : tensor<1056x512xui8>
  %high1 = graph.reshape %high : tensor<1056x512xui8> -> tensor<1056x512x1xui8>
  %both = graph.concat %low1, %high1 axis = 2 : tensor<1056x512x1xui8>, tensor<1056x512x1xui8> -> tensor<1056x512x2xui8>
  %q = graph.reshape %both : tensor<1056x512x2xui8> -> tensor<1056x32x32xui8>
  %real = graph.cast %q : tensor<1056x32x32xui8> -> tensor<1056x32x32xbf16>
  %eight = graph.constant dense<8.0> : tensor<bf16>
  %eights = graph.broadcast %eight [] : tensor<bf16> -> tensor<1056x32x32xbf16>
  %centred = graph.sub %real, %eights : tensor<1056x32x32xbf16>
  %s1 = graph.reshape %s : tensor<1056x32xbf16> -> tensor<1056x32x1xbf16>
  %ss = graph.broadcast %s1 [0, 1, 2] : tensor<1056x32x1xbf16> -> tensor<1056x32x32xbf16>
  %scaled = graph.mul %centred, %ss : tensor<1056x32x32xbf16>
  %flat = graph.reshape %scaled : tensor<1056x32x32xbf16> -> tensor<1056x1024xbf16>
  %t = graph.transpose %flat [1, 0] : tensor<1056x1024xbf16> -> tensor<1024x1056xbf16>
  %y = graph.contract %x, %t batch [] x [] contract [1] x [0] : tensor<16x1024xbf16>, tensor<1024x1056xbf16> -> tensor<16x1056xbf16>
  return %y : tensor<16x1056xbf16>
}
