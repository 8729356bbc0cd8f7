// Blocks of 32 of a row are scaled by their greatest and stored transposed, as
// in quantisation along both axes. Rows are read in vectors once; elements are
// turned in shared memory and stored in vectors of 16 bytes along the rows.
// RUN: fusec compile %s --emit=cuda --arch=sm_90a --quiet | FileCheck %s

// CHECK: FUSEC_KERNEL({{.*}}, 256)(const bf16 *p0, f32 *p1, f8e4m3 *p2)
// CHECK: ld<8>(a0, {{.*}}, p0,
// CHECK: shfl_xor({{.*}}, 1)
// CHECK: shfl_xor({{.*}}, 2)
// CHECK-NOT: p0
// CHECK: FUSEC_SHARED(f8e4m3, s0, 8192);
// CHECK: sts<1>(s0,
// CHECK: bar();
// CHECK: lds<16>({{.*}}, s0,
// CHECK: st<16>(p2,
// CHECK-NOT: st{{m?}}<
func.func @main(%x: tensor<4096x2048xbf16>) -> (tensor<2048x4096xf8E4M3FN>, tensor<4096x64xf32>) {
  %c = graph.cast %x : tensor<4096x2048xbf16> -> tensor<4096x2048xf32>
  %r = graph.reshape %c : tensor<4096x2048xf32> -> tensor<4096x64x32xf32>
  %a = graph.abs %r : tensor<4096x64x32xf32>
  %m = graph.reduce max %a [2] : tensor<4096x64x32xf32> -> tensor<4096x64xf32>
  %b = graph.broadcast %m [0, 1] : tensor<4096x64xf32> -> tensor<4096x64x32xf32>
  %q = graph.div %r, %b : tensor<4096x64x32xf32>
  %f = graph.reshape %q : tensor<4096x64x32xf32> -> tensor<4096x2048xf32>
  %n = graph.cast %f : tensor<4096x2048xf32> -> tensor<4096x2048xf8E4M3FN>
  %t = graph.transpose %n [1, 0] : tensor<4096x2048xf8E4M3FN> -> tensor<2048x4096xf8E4M3FN>
  return %t, %m : tensor<2048x4096xf8E4M3FN>, tensor<4096x64xf32>
}
