// What counts the tile before is handed over by a lane during the products:
// ptxas mixes up that tile's rows and the next one's where it may move them.
// REQUIRES: nvrtc
// RUN: fusec compile %s --emit=ptx --arch=sm_90a | FileCheck %s
// CHECK: wgmma.commit_group
// CHECK-NOT: atom.
// CHECK: setp.lt.s32 {{.*}}, 0;
// CHECK-NOT: atom.
// CHECK-COUNT-3: shfl.sync.idx.b32
// CHECK-NOT: shfl.
// CHECK: atom.acq_rel.gpu.global.inc.u32
func.func @squares(%x: tensor<8192x4096xbf16>, %w: tensor<4096x4096xbf16>, %r: tensor<8192x4096xbf16>) -> (tensor<8192x4096xbf16>, tensor<8192xf32>) {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<8192x4096xbf16>, tensor<4096x4096xbf16> -> tensor<8192x4096xbf16>
  %y = graph.add %p, %r : tensor<8192x4096xbf16>
  %v = graph.cast %y : tensor<8192x4096xbf16> -> tensor<8192x4096xf32>
  %q = graph.mul %v, %v : tensor<8192x4096xf32>
  %s = graph.reduce sum %q [1] : tensor<8192x4096xf32> -> tensor<8192xf32>
  return %y, %s : tensor<8192x4096xbf16>, tensor<8192xf32>
}
