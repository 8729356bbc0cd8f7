// RUN: fusec compile %s --emit=cuda --arch=sm_80 -o - | FileCheck %s

// What an operand needs of its row is computed once a row, not at each step
// along k.
// CHECK: RowA prepareA(i32 b, i32 outer) const {
// CHECK-NEXT: const bool [[INSIDE:v[0-9]+]] = outer < n
// CHECK-NEXT: const i32 [[START:v[0-9]+]] = outer * 96;
// CHECK-NEXT: return {[[START]], [[INSIDE]], outer};
// CHECK: void valuesA(
// CHECK-NOT: 96;
// CHECK: row.r0 + k
// CHECK-NOT: * 96
// CHECK: kAccessB
func.func @f(%x: tensor<64x96xf32>, %s: tensor<64xf32>, %w: tensor<96x32xf32>) -> tensor<64x32xf32> {
  %e = graph.exp %s : tensor<64xf32>
  %b = graph.broadcast %e [0] : tensor<64xf32> -> tensor<64x96xf32>
  %a = graph.mul %x, %b : tensor<64x96xf32>
  %p = graph.contract %a, %w batch [] x [] contract [1] x [0] : tensor<64x96xf32>, tensor<96x32xf32> -> tensor<64x32xf32>
  return %p : tensor<64x32xf32>
}
