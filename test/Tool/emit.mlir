// Every stage of a small graph.
// RUN: fusec compile %S/Inputs/softmax.mlir --emit=graph | FileCheck %s --check-prefix=GRAPH
// GRAPH: func.func @main
// GRAPH-NOT: graph.fusion
// GRAPH: graph.reduce max

// RUN: fusec compile %S/Inputs/softmax.mlir --emit=fused | FileCheck %s --check-prefix=FUSED
// FUSED: graph.fusion
// FUSED-NOT: graph.fusion
// FUSED: return

// RUN: fusec compile %S/Inputs/softmax.mlir --emit=fused --fuse=off | FileCheck %s --check-prefix=UNFUSED
// UNFUSED-COUNT-7: graph.fusion

// RUN: fusec compile - --emit=tile < %S/Inputs/softmax.mlir | FileCheck %s --check-prefix=TILE
// TILE: tile.kernel
// TILE: tile.load
// RUN: fusec compile %S/Inputs/softmax.mlir --emit=simt | FileCheck %s --check-prefix=SIMT
// SIMT: simt.kernel

// RUN: fusec compile %S/Inputs/softmax.mlir -o %t.cuda 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: FileCheck %s --check-prefix=CUDA < %t.cuda
// SUMMARY: launches: 7 (one per op) -> 1 fused, of 1 different kernels
// CUDA: FUSEC_KERNEL(k_
// CUDA: FUSEC_EXPORT(k_

// RUN: fusec compile %S/Inputs/softmax.mlir --emit=llvm | FileCheck %s --check-prefix=LLVM
// LLVM: define {{.*}}void @

// --exact rounds after every op, so half precision kernels differ.
// RUN: fusec compile %s -o %t.default && fusec compile %s --exact -o %t.exact && not cmp %t.default %t.exact
// RUN: fusec compile %s --emit=fused --arch=sm_80 | FileCheck %s --check-prefix=A100
// A100: graph.fusion
func.func @half(%x: tensor<64xf16>) -> tensor<64xf16> {
  %a = graph.mul %x, %x : tensor<64xf16>
  %b = graph.add %a, %x : tensor<64xf16>
  return %b : tensor<64xf16>
}
