// A row of 128 KB is copied once, by a cluster of two blocks that keep it in
// shared memory. Each warp looks twice at what it has of the row, for a maximum
// and the sum of exp, and warps and blocks meet once, with pairs of them, which
// are sent in the background. Where every op rounds, maximum and sum end over the
// cluster with a meeting each.
// Targets without clusters read it twice. Short rows take clusters if told to.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: fusec compile %s --emit=cuda --quiet --exact | FileCheck %s --check-prefix=EXACT
// RUN: fusec compile %s --emit=cuda --quiet --arch=sm_80 | FileCheck %s --check-prefix=SM80
// RUN: fusec compile %s --emit=cuda --quiet --row-block=10000 | FileCheck %s --check-prefix=SMALL
// RUN: fusec explain %s | FileCheck %s --check-prefix=WHY
// RUN: not fusec compile %s --emit=cuda --row-block=x 2>&1 | FileCheck %s --check-prefix=USAGE

// CHECK-COUNT-1: FUSEC_KERNEL_CLUSTER({{.*}}, 256, 3, 2)(
// CHECK: FUSEC_MBARRIERS(meetings, 1);
// CHECK: mbar_init(meetings, 0, 1);
// CHECK: mbar_init_fence();
// CHECK: mbar_arrive_expect(meetings, 0, 128);
// CHECK: cluster_arrive_relaxed();
// CHECK: FUSEC_SHARED_DYN_AT(bf16, {{.*}}, 0);
// CHECK-COUNT-4: cp_async16(
// CHECK-NEXT: cp_async_commit();
// CHECK-NOT: cp_async16
// CHECK: cp_async_wait<3>();
// CHECK-COUNT-4: lds<8>(
// CHECK: cp_async_commit();
// Maxima of bf16 stay bf16.
// CHECK: const bf16 {{v[0-9]+}} = m_max(
// CHECK-COUNT-5: shfl_xor(
// CHECK-NOT: {{bar|cluster_sync|cluster_wait}}(
// CHECK-NOT: {{ }}ld<
// CHECK-COUNT-4: lds<8>(
// CHECK: m_exp_near(
// CHECK: cluster_wait();
// CHECK-COUNT-2: st_async(
// CHECK-NOT: cluster_sync
// CHECK: mbar_wait(meetings, 0, 0);
// CHECK-COUNT-8: shfl_xor(
// CHECK-NOT: {{ }}ld<
// CHECK-COUNT-4: lds<8>(
// CHECK: m_div_by_sum(
// CHECK-COUNT-4: stm<8>(
// CHECK-NOT: cluster
// CHECK-NOT: FUSEC_KERNEL

// The same where every op rounds.
// EXACT-COUNT-1: FUSEC_KERNEL_CLUSTER({{.*}}, 256, 3, 2)(
// EXACT-COUNT-4: cp_async16(
// EXACT: mbar_wait(meetings, 0, 0);
// EXACT-NOT: {{ }}ld<
// EXACT: mbar_wait(meetings, 1, 0);
// EXACT-NOT: {{ }}ld<
// EXACT-NOT: FUSEC_KERNEL

// SM80-NOT: cluster
// SM80: FUSEC_KERNEL(
// SM80-NOT: cluster

// SMALL: FUSEC_KERNEL_CLUSTER({{.*}}, 16)(

// WHY: row
// WHY-NEXT: rows of 65536 elements: kept by clusters of 2 blocks, read once

// USAGE: --row-block: expected a number of bytes, found 'x'
func.func @main(%x: tensor<512x65536xbf16>) -> tensor<512x65536xbf16> {
  %y = graph.softmax %x [1] : tensor<512x65536xbf16>
  return %y : tensor<512x65536xbf16>
}
