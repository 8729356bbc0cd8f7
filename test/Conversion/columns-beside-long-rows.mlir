// Rows so long that one block has a multiprocessor, eight elements a thread.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// CHECK: FUSEC_KERNEL_GRID({{.*}}, 1024, 1)(
// CHECK-COUNT-2: cp_async16(
// CHECK: cp_async_commit();
// States in accesses of 16 bytes.
// CHECK: st<4>(
// CHECK: st<4>(
// CHECK: grid_sync(
// CHECK-NOT: FUSEC_KERNEL
func.func @main(%x: tensor<8192x8192xbf16>, %dy: tensor<8192x8192xbf16>, %gamma: tensor<8192xbf16>)
    -> (tensor<8192x8192xbf16>, tensor<8192xbf16>, tensor<8192xf32>) {
  %w = graph.cast %x : tensor<8192x8192xbf16> -> tensor<8192x8192xf32>
  %g = graph.cast %dy : tensor<8192x8192xbf16> -> tensor<8192x8192xf32>
  %s = graph.cast %gamma : tensor<8192xbf16> -> tensor<8192xf32>
  %sb = graph.broadcast %s [1] : tensor<8192xf32> -> tensor<8192x8192xf32>
  %wg = graph.mul %g, %sb : tensor<8192x8192xf32>
  %xw = graph.mul %w, %wg : tensor<8192x8192xf32>
  %r0 = graph.reduce sum %xw [1] : tensor<8192x8192xf32> -> tensor<8192xf32>
  %r1 = graph.reduce sum %wg [1] : tensor<8192x8192xf32> -> tensor<8192xf32>
  %b0 = graph.broadcast %r0 [0] : tensor<8192xf32> -> tensor<8192x8192xf32>
  %b1 = graph.broadcast %r1 [0] : tensor<8192xf32> -> tensor<8192x8192xf32>
  %p = graph.mul %w, %b0 : tensor<8192x8192xf32>
  %d = graph.sub %wg, %p : tensor<8192x8192xf32>
  %e = graph.sub %d, %b1 : tensor<8192x8192xf32>
  %dx = graph.cast %e : tensor<8192x8192xf32> -> tensor<8192x8192xbf16>
  %gw = graph.mul %g, %w : tensor<8192x8192xf32>
  %c0 = graph.reduce sum %gw [0] : tensor<8192x8192xf32> -> tensor<8192xf32>
  %c1 = graph.reduce sum %g [0] : tensor<8192x8192xf32> -> tensor<8192xf32>
  %dg = graph.cast %c0 : tensor<8192xf32> -> tensor<8192xbf16>
  return %dx, %dg, %c1 : tensor<8192x8192xbf16>, tensor<8192xbf16>, tensor<8192xf32>
}
