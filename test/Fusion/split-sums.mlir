// RUN: fusec compile %s --quiet --emit=fused | FileCheck %s
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=TEXT
// RUN: sed 's/%%a, %%w/%%x, %%w/' %s | fusec compile - --quiet | FileCheck %s --check-prefix=CLUSTER
// RUN: sed 's/8192/1024/g' %s | fusec compile - --quiet --emit=fused | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/8192/8191/g' %s | fusec compile - --quiet --emit=fused | FileCheck %s --check-prefix=WHOLE
// RUN: fusec compile %s --quiet --arch=sm_80 --emit=fused | FileCheck %s --check-prefix=WHOLE

// 8192 terms of few results are 16 parts, which are batches of one product on
// large tiles; the kernel that adds them has the epilogue. Short sums, sums
// that do not divide and other machines keep one kernel. So do operands that
// the copy engine brings as they are: clusters divide the sums.
// CHECK: -> tensor<16x72x80xf32>
// CHECK: graph.contract %{{.*}} batch [1] x [0] contract [2] x [1]
// CHECK: graph.fusion
// CHECK-NEXT: graph.constant
// CHECK-NEXT: graph.reduce  sum %{{.*}} [0]
// CHECK-NEXT: graph.cast
// CHECK-NEXT: graph.max
// TEXT: GemmConfig<GemmKind::BF16,
// CLUSTER: GemmSplitConfig<GemmKind::BF16,
// CLUSTER: FUSEC_KERNEL_CLUSTER
// CLUSTER-NOT: FUSEC_KERNEL
// WHOLE-COUNT-1: graph.fusion
// WHOLE-NOT: graph.reduce
func.func @main(%x: tensor<72x8192xbf16>, %w: tensor<8192x80xbf16>) -> tensor<72x80xbf16> {
  %a = graph.relu %x : tensor<72x8192xbf16>
  %y = graph.contract %a, %w batch [] x [] contract [1] x [0] : tensor<72x8192xbf16>, tensor<8192x80xbf16> -> tensor<72x80xbf16>
  %r = graph.relu %y : tensor<72x80xbf16>
  return %r : tensor<72x80xbf16>
}
