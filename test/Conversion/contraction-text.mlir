// RUN: split-file %s %t

// The main loop is of the elements' own type.
// RUN: fusec compile %t/kinds.mlir --quiet | FileCheck %s --check-prefix=BF16
// RUN: sed 's/bf16/f16/g' %t/kinds.mlir | fusec compile - --quiet | FileCheck %s --check-prefix=F16
// RUN: sed 's/bf16/f32/g' %t/kinds.mlir | fusec compile - --quiet | FileCheck %s --check-prefix=F32
// BF16: Config<GemmKind::BF16,
// F16: Config<GemmKind::F16,
// F32: Config<GemmKind::F32,

// Heads that share a matrix: it is found by the quotient of the head, with no
// part for the remainder, and copied in boxes.
// RUN: fusec compile %t/grouped.mlir --quiet | FileCheck %s --check-prefix=GROUPED
// GROUPED: using BoxB = GemmBox<GemmOrder::OuterContiguous, 4, false, true>;
// GROUPED: GemmAccess kAccessB = GemmAccess::Tensor;
// GROUPED: gemm_wgmma<

// An operand that is computed from the number of the matrix.
// RUN: fusec compile %t/batch.mlir --quiet | FileCheck %s --check-prefix=BATCH
// BATCH: prepareA(i32 b, i32 outer)
// BATCH: (i64)b;
// BATCH: gemm

// The groups of a convolution are matrices, the channels of a group are rows:
// no reduction of each element alone.
// RUN: fusec compile %t/groups.mlir --quiet | FileCheck %s --check-prefix=CONV
// CONV: prepareA(i32 b, i32 outer)
// CONV: b * 18432;
// CONV: outer * 288;
// CONV: gemm{{.*}}(holes, {{.*}}, (i32)900, (i32)288,

// Matrices that lie between the rows of others: outer, k, their strides, the
// divisor of the number, the count of quotients and both strides.
// RUN: fusec compile %t/between.mlir --emit=tile --quiet | FileCheck %s --check-prefix=BETWEEN
// BETWEEN: lhsMatrix = array<i64: 65, 64, 384, 1, 1, 6, 0, 64>
// BETWEEN-SAME: rhsMatrix = array<i64: 128, 64, 1, 128, 1, 6, 0, 8192>

//--- between.mlir
func.func @main(%x: tensor<65x6x64xf16>, %w: tensor<6x64x128xf16>) -> tensor<6x65x128xf16> {
  %y = graph.contract %x, %w batch [1] x [0] contract [2] x [1] : tensor<65x6x64xf16>, tensor<6x64x128xf16> -> tensor<6x65x128xf16>
  return %y : tensor<6x65x128xf16>
}
//--- kinds.mlir
func.func @main(%x: tensor<512x256xbf16>, %w: tensor<256x128xbf16>) -> tensor<512x128xbf16> {
  %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<512x256xbf16>, tensor<256x128xbf16> -> tensor<512x128xbf16>
  return %y : tensor<512x128xbf16>
}
//--- grouped.mlir
func.func @main(%x: tensor<8x65x64xf16>, %w: tensor<2x64x128xf16>) -> tensor<8x65x128xf16> {
  %b = graph.broadcast %w [0, 2, 3] : tensor<2x64x128xf16> -> tensor<2x4x64x128xf16>
  %r = graph.reshape %b : tensor<2x4x64x128xf16> -> tensor<8x64x128xf16>
  %y = graph.contract %x, %r batch [0] x [0] contract [2] x [1] : tensor<8x65x64xf16>, tensor<8x64x128xf16> -> tensor<8x65x128xf16>
  return %y : tensor<8x65x128xf16>
}
//--- batch.mlir
func.func @main(%x: tensor<6x65x64xf16>, %w: tensor<6x64x128xf16>) -> tensor<6x65x128xf16> {
  %i = graph.iota 0 : tensor<6x65x64xf16>
  %b = graph.mul %x, %i : tensor<6x65x64xf16>
  %y = graph.contract %b, %w batch [0] x [0] contract [2] x [1] : tensor<6x65x64xf16>, tensor<6x64x128xf16> -> tensor<6x65x128xf16>
  return %y : tensor<6x65x128xf16>
}
//--- groups.mlir
func.func @main(%x: tensor<1x64x32x32xf16>, %w: tensor<128x32x3x3xf16>) -> tensor<1x128x30x30xf16> {
  %0 = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 2 : tensor<1x64x32x32xf16>, tensor<128x32x3x3xf16> -> tensor<1x128x30x30xf16>
  return %0 : tensor<1x128x30x30xf16>
}
