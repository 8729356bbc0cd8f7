// Results of 16 bits turn in shared memory where weights lie along n: the hole
// takes two columns and hands its results to a sink (gemm_turn.cuh). There are
// more tiles than blocks, so that the ring leaves room for it.
// RUN: split-file %s %t

// Vectors are read for them, and nothing else.
// RUN: fusec compile %t/bias.mlir --arch=sm_90a --quiet | FileCheck %s --check-prefix=BIAS
// BIAS: kColumns = 2;
// BIAS: using Result = bf16;
// BIAS-NEXT: template <class Sink>
// BIAS-NEXT: epilogue(i32 b, i32 m, i32 n, const f32 (&acc)[2], i32 valid, Sink &sink) const
// BIAS: ld<2>
// BIAS: sink.template put<2>({{.*}}, valid > 0);

// A matrix is read by 8 bytes a lane, so lanes exchange columns as before.
// RUN: fusec compile %t/residual.mlir --arch=sm_90a --quiet | FileCheck %s --check-prefix=FOURS --implicit-check-not='using Result'
// FOURS: kColumns = 4;
// FOURS: st{{(_if)?}}<4>

// So they do for two outputs.
// RUN: fusec compile %t/two.mlir --arch=sm_90a --quiet | FileCheck %s --check-prefix=FOURS --implicit-check-not='using Result'

// Results of 32 bits are stored as accumulators lie, four lanes a sector, with
// weights of either order.
// RUN: fusec compile %t/wide.mlir --arch=sm_90a --quiet | FileCheck %s --check-prefix=WIDE --implicit-check-not='using Result'
// RUN: fusec compile %t/wide-along-k.mlir --arch=sm_90a --quiet | FileCheck %s --check-prefix=WIDE --implicit-check-not='using Result'
// WIDE: using BoxB = GemmBox<GemmOrder::{{[A-Za-z]*}}, 1, false, false>;
// WIDE: kColumns = 2;
// WIDE: st_if<2>

// Along k rows of B come in the order of accumulators.
// RUN: fusec compile %t/along-k.mlir --arch=sm_90a --quiet | FileCheck %s --check-prefix=EIGHTS --implicit-check-not='using Result'
// EIGHTS: kColumns = 8;
// EIGHTS: st_if<8>

//--- bias.mlir
func.func @main(%x: tensor<4096x256xbf16>, %w: tensor<256x1024xbf16>, %bias: tensor<1024xbf16>) -> tensor<4096x1024xbf16> {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<4096x256xbf16>, tensor<256x1024xbf16> -> tensor<4096x1024xbf16>
  %b = graph.broadcast %bias [1] : tensor<1024xbf16> -> tensor<4096x1024xbf16>
  %y = graph.add %p, %b : tensor<4096x1024xbf16>
  return %y : tensor<4096x1024xbf16>
}

//--- residual.mlir
func.func @main(%x: tensor<4096x256xbf16>, %w: tensor<256x1024xbf16>, %r: tensor<4096x1024xbf16>) -> tensor<4096x1024xbf16> {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<4096x256xbf16>, tensor<256x1024xbf16> -> tensor<4096x1024xbf16>
  %y = graph.add %p, %r : tensor<4096x1024xbf16>
  return %y : tensor<4096x1024xbf16>
}

//--- wide.mlir
func.func @main(%x: tensor<4096x256xbf16>, %w: tensor<256x1024xbf16>) -> tensor<4096x1024xf32> {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<4096x256xbf16>, tensor<256x1024xbf16> -> tensor<4096x1024xf32>
  return %p : tensor<4096x1024xf32>
}

//--- wide-along-k.mlir
func.func @main(%x: tensor<4096x256xbf16>, %w: tensor<1024x256xbf16>) -> tensor<4096x1024xf32> {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [1] : tensor<4096x256xbf16>, tensor<1024x256xbf16> -> tensor<4096x1024xf32>
  return %p : tensor<4096x1024xf32>
}

//--- two.mlir
func.func @main(%x: tensor<4096x256xbf16>, %w: tensor<256x1024xbf16>) -> (tensor<4096x1024xbf16>, tensor<4096x1024xbf16>) {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<4096x256xbf16>, tensor<256x1024xbf16> -> tensor<4096x1024xbf16>
  %y = graph.neg %p : tensor<4096x1024xbf16>
  return %p, %y : tensor<4096x1024xbf16>, tensor<4096x1024xbf16>
}

//--- along-k.mlir
func.func @main(%x: tensor<4096x256xbf16>, %w: tensor<1024x256xbf16>) -> tensor<4096x1024xbf16> {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [1] : tensor<4096x256xbf16>, tensor<1024x256xbf16> -> tensor<4096x1024xbf16>
  return %p : tensor<4096x1024xbf16>
}
