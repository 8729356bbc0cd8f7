// A transposed input is loaded in vectors along its own axis and turned in
// shared memory; the other input is on its way before the barrier, and the
// output is stored in vectors.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: ld<4>(a0, {{.*}}, p0,
// CHECK: ld<4>(a1, {{.*}}, p1,
// CHECK: FUSEC_SHARED(f32, s0, 4096);
// CHECK: sts<4>(s0,
// CHECK: bar();
// CHECK: lds<1>({{.*}}, s0,
// CHECK: st<4>(p2,
func.func @main(%x: tensor<8192x4096xf32>, %y: tensor<4096x8192xf32>) -> tensor<4096x8192xf32> {
  %t = graph.transpose %x [1, 0] : tensor<8192x4096xf32> -> tensor<4096x8192xf32>
  %s = graph.add %t, %y : tensor<4096x8192xf32>
  return %s : tensor<4096x8192xf32>
}
