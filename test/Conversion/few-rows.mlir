// RUN: fusec compile %s --quiet | FileCheck %s
// RUN: sed 's/4096/512/g; s/5x/17x/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=CLUSTER
// RUN: sed 's/5x/200x/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=MANY
// RUN: sed 's/5x/1x/g; s/2048x4096/4096x2048/g; s/x \[0\]/x [1]/' %s | fusec compile - --quiet | FileCheck %s --check-prefix=ROW

// Few rows against many 16-bit weights along n: straight to registers, with A
// in shared memory. More rows and fewer columns: warps and the blocks of a
// cluster divide k.
// CHECK: GemmAccess kAccessA = GemmAccess::Async
// CHECK: GemmAccess kAccessB = GemmAccess::Async
// CHECK: GemmDirectConfig<GemmKind::BF16, 8, 1, 16, 4, 1, 8, 2048>
// CHECK: FUSEC_KERNEL_MIN(
// CHECK: gemm_direct<
// CLUSTER: GemmFewConfig<GemmKind::BF16, 32, 64, {{[0-9]+}}, {{[0-9]+}}, {{[248]}}>
// CLUSTER: FUSEC_KERNEL_CLUSTER(
// MANY: gemm_wgmma<
// One row is a reduction.
// ROW-NOT: gemm
// ROW: FUSEC_KERNEL(
func.func @main(%x: tensor<5x2048xbf16>, %w: tensor<2048x4096xbf16>) -> tensor<5x4096xbf16> {
  %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<5x2048xbf16>, tensor<2048x4096xbf16> -> tensor<5x4096xbf16>
  %r = graph.relu %y : tensor<5x4096xbf16>
  return %r : tensor<5x4096xbf16>
}
