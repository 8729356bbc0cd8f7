// Steps of a chain hand values on through the shared memory of a cluster: column
// maxima are made by every block, rows are shared out and sent, and stored ahead
// of their sums. Elements of 16 bits go through memory.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: sed s/f32/f16/g %s | fusec compile - --emit=cuda --quiet | FileCheck %s --check-prefix=SHORT
// RUN: fusec compile %s --emit=cuda --quiet --arch=sm_80 | FileCheck %s --check-prefix=SM80
// RUN: fusec run %s --target=emulator --against=reference --seed=1
// RUN: sed s/f32/f16/g %s | fusec run - --target=emulator --against=reference --seed=1

// CHECK: FUSEC_DEVICE void [[MAX:.*]](FUSEC_SHARED_PTR(u64) arena, const i32 block, Kept<f32> p0, Kept<f32> p1, const i32 n0) {
// CHECK: ldm<2>(a0, r0, p0,
// CHECK: FUSEC_DEVICE void [[ROUND:.*]](const i32 block, Kept<f32> p0, Kept<f32> p1, Kept<f32> p2, f32 *p3, Sent<f32, 8> p4, Sent<f32, 8> p5, const i32 n0) {
// CHECK: m_tanh
// CHECK: stm<4>(p4,
// CHECK: shfl_xor
// CHECK: stm<1>(p5,
// CHECK: i32 bytes[0x0007];
// CHECK-NEXT: ChainStep step[0x000a];
// CHECK: FUSEC_KERNEL_CLUSTER([[K:.*]], 128, 1, 8)(FUSEC_TABLE(
// CHECK: FUSEC_SHARED_DYN(u64, values);
// CHECK-NEXT: FUSEC_MBARRIERS(meetings, 0x0007);
// CHECK-NEXT: begin_meetings<128>(meetings, table.bytes);
// CHECK: next = read_ahead(table.step[step + 1]);
// CHECK: const auto p0 = pinned(t.p0);
// CHECK: meet<false>(meetings, now, waited);
// CHECK-NEXT: for (i32 block = first; block < now.blocks; block += now.stride) {
// CHECK: [[MAX]](arena, block, kept<f32>(values, p0), kept<f32>(values, p1), (i32)n0);
// CHECK-NEXT: bar();
// CHECK: [[ROUND]](block, kept<f32>(values, p0), kept<f32>(values, p1), kept<f32>(values, p2), p3, sent<f32, 8>(values, p4, meetings, now.sends + 0), sent<f32, 8>(values, p5, meetings, now.sends + 1), (i32)n0);
// CHECK-NOT: cluster_sync

// SHORT-NOT: Kept<
// SHORT: FUSEC_KERNEL_CLUSTER({{.*}}, 128, 1, 8)(
// SHORT: if (table.meets[step]) cluster_sync();

// SM80-NOT: CLUSTER

func.func @f(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r0 = graph.reduce sum %x [1] : tensor<64x64xf32> -> tensor<64xf32>
  %p0 = graph.broadcast %r0 [0] : tensor<64xf32> -> tensor<64x64xf32>
  %t0 = graph.transpose %x [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  %c0 = graph.reduce max %x [0] : tensor<64x64xf32> -> tensor<64xf32>
  %q0 = graph.broadcast %c0 [1] : tensor<64xf32> -> tensor<64x64xf32>
  %d0 = graph.sub %t0, %q0 : tensor<64x64xf32>
  %e0 = graph.add %d0, %y : tensor<64x64xf32>
  %g0 = graph.tanh %e0 : tensor<64x64xf32>
  %x1 = graph.add %g0, %p0 : tensor<64x64xf32>
  %r1 = graph.reduce sum %x1 [1] : tensor<64x64xf32> -> tensor<64xf32>
  %p1 = graph.broadcast %r1 [0] : tensor<64xf32> -> tensor<64x64xf32>
  %t1 = graph.transpose %x1 [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  %c1 = graph.reduce max %x1 [0] : tensor<64x64xf32> -> tensor<64xf32>
  %q1 = graph.broadcast %c1 [1] : tensor<64xf32> -> tensor<64x64xf32>
  %d1 = graph.sub %t1, %q1 : tensor<64x64xf32>
  %e1 = graph.add %d1, %y : tensor<64x64xf32>
  %g1 = graph.tanh %e1 : tensor<64x64xf32>
  %x2 = graph.add %g1, %p1 : tensor<64x64xf32>
  %r2 = graph.reduce sum %x2 [1] : tensor<64x64xf32> -> tensor<64xf32>
  %p2 = graph.broadcast %r2 [0] : tensor<64xf32> -> tensor<64x64xf32>
  %t2 = graph.transpose %x2 [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  %c2 = graph.reduce max %x2 [0] : tensor<64x64xf32> -> tensor<64xf32>
  %q2 = graph.broadcast %c2 [1] : tensor<64xf32> -> tensor<64x64xf32>
  %d2 = graph.sub %t2, %q2 : tensor<64x64xf32>
  %e2 = graph.add %d2, %y : tensor<64x64xf32>
  %g2 = graph.tanh %e2 : tensor<64x64xf32>
  %x3 = graph.add %g2, %p2 : tensor<64x64xf32>
  %r3 = graph.reduce sum %x3 [1] : tensor<64x64xf32> -> tensor<64xf32>
  %p3 = graph.broadcast %r3 [0] : tensor<64xf32> -> tensor<64x64xf32>
  %t3 = graph.transpose %x3 [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  %c3 = graph.reduce max %x3 [0] : tensor<64x64xf32> -> tensor<64xf32>
  %q3 = graph.broadcast %c3 [1] : tensor<64xf32> -> tensor<64x64xf32>
  %d3 = graph.sub %t3, %q3 : tensor<64x64xf32>
  %e3 = graph.add %d3, %y : tensor<64x64xf32>
  %g3 = graph.tanh %e3 : tensor<64x64xf32>
  %x4 = graph.add %g3, %p3 : tensor<64x64xf32>
  return %x4 : tensor<64x64xf32>
}
