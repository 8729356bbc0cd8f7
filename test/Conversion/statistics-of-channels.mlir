// Mean and squares of few columns in one pass: vectors along the channels, the
// other lanes along the pixels, copies an iteration ahead, one wave of blocks with the registers for it,
// and pairs of warps combine. The result is a second kernel.
// RUN: fusec compile %s --emit=fused | FileCheck %s --check-prefix=FUSED
// RUN: fusec compile %s --emit=tile | FileCheck %s
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=TEXT
// FUSED-COUNT-2: graph.fusion
// FUSED-NOT: graph.fusion
// CHECK: tile.kernel
// CHECK: lane = [16:4:0, 2:1:1]
// The last block combines the parts of the others step by step.
// CHECK: tile.ticket %{{.*}} of 131
// CHECK: scf.for
// TEXT: FUSEC_KERNEL_MIN(k_{{[0-9a-f]+}}, 1024, 1)
// TEXT: cp_async_wait<0>();
// What four vectors of a thread share is computed once: only the last block has
// masks.
// TEXT: FUSEC_KERNEL(
// TEXT: if (
// TEXT-NOT: ldm<
// TEXT: } else {
// TEXT: ldm<8>
func.func @main(%x: tensor<128x56x56x64xbf16>) -> (tensor<128x56x56x64xbf16>, tensor<64xf32>) {
  %w = graph.cast %x : tensor<128x56x56x64xbf16> -> tensor<128x56x56x64xf32>
  %s = graph.reduce sum %w [0, 1, 2] : tensor<128x56x56x64xf32> -> tensor<64xf32>
  %n = graph.constant dense<401408.0> : tensor<64xf32>
  %m = graph.div %s, %n : tensor<64xf32>
  %mb = graph.broadcast %m [3] : tensor<64xf32> -> tensor<128x56x56x64xf32>
  %d = graph.sub %w, %mb : tensor<128x56x56x64xf32>
  %q = graph.mul %d, %d : tensor<128x56x56x64xf32>
  %t = graph.reduce sum %q [0, 1, 2] : tensor<128x56x56x64xf32> -> tensor<64xf32>
  %v = graph.div %t, %n : tensor<64xf32>
  %r = graph.rsqrt %v : tensor<64xf32>
  %rb = graph.broadcast %r [3] : tensor<64xf32> -> tensor<128x56x56x64xf32>
  %z = graph.mul %d, %rb : tensor<128x56x56x64xf32>
  %p = graph.relu %z : tensor<128x56x56x64xf32>
  %y = graph.cast %p : tensor<128x56x56x64xf32> -> tensor<128x56x56x64xbf16>
  return %y, %v : tensor<128x56x56x64xbf16>, tensor<64xf32>
}
