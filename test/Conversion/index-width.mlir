// RUN: split-file %s %t
// Indices are 32 bits wide where every offset fits, 64 where one may not. What
// no loop changes is computed before the loops.
// RUN: fusec compile %t/small.mlir --emit=cuda | FileCheck %s --check-prefix=SMALL
// SMALL: FUSEC_KERNEL({{.*}}, i32 n0)
// SMALL-NOT: i64
// SMALL: [[BASE:v[0-9]+]] = v{{[0-9]+}} + v{{[0-9]+}};
// SMALL: [[AT:v[0-9]+]] = [[BASE]] + v{{[0-9]+}};
// SMALL: const bool [[MASK:v[0-9]+]] = [[AT]] < v
// SMALL-NEXT: grid_wait();
// SMALL-NEXT: ldm<4>({{.*}}, [[AT]], [[MASK]],
// SMALL-NOT: i64
// RUN: fusec compile %t/large.mlir --emit=cuda | FileCheck %s --check-prefix=LARGE
// LARGE: FUSEC_KERNEL({{.*}}, i64 n0)
// LARGE-NOT: i32
// Pointwise kernels count blocks past the end: half of the range is theirs.
// RUN: fusec compile %t/half.mlir --emit=cuda | FileCheck %s --check-prefix=LARGE
// Contractions do not: operands of up to 2^31 elements have 32 bits.
// RUN: fusec compile %t/product.mlir --emit=cuda --quiet | FileCheck %s --check-prefix=PRODUCT
// RUN: sed 's/4000[01]x40000/60000x40000/g; s/40001x64/60000x64/g' %t/product.mlir | fusec compile - --emit=cuda --quiet | FileCheck %s --check-prefix=WIDE
// PRODUCT: FUSEC_KERNEL{{.*}}, i32 n0
// WIDE: FUSEC_KERNEL{{.*}}, i64 n0

//--- small.mlir
func.func @f(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %d = graph.neg %x : tensor<4096xf32>
  return %d : tensor<4096xf32>
}
//--- large.mlir
func.func @f(%x: tensor<70000x70000xf16>) -> tensor<70000x70000xf16> {
  %d = graph.neg %x : tensor<70000x70000xf16>
  return %d : tensor<70000x70000xf16>
}
//--- half.mlir
func.func @f(%x: tensor<40000x40000xf16>) -> tensor<40000x40000xf16> {
  %d = graph.neg %x : tensor<40000x40000xf16>
  return %d : tensor<40000x40000xf16>
}
//--- product.mlir
func.func @f(%x: tensor<40001x40000xbf16>, %w: tensor<40000x64xbf16>) -> tensor<40001x64xbf16> {
  %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<40001x40000xbf16>, tensor<40000x64xbf16> -> tensor<40001x64xbf16>
  return %y : tensor<40001x64xbf16>
}
