// The mean and the squares of distances to it are made in one pass, split over
// blocks: a sum, a count, a mean and the squares are one state.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: sed 's/f32/f64/g' %s | fusec compile - --emit=cuda --quiet | FileCheck %s --check-prefix=F64
// RUN: fusec compile %s --emit=cuda --quiet --exact | FileCheck %s --check-prefix=EXACT

// CHECK-COUNT-1: FUSEC_KERNEL
// CHECK: m_div_by_sum(
// CHECK: m_fma(
// CHECK: ticket(
// CHECK-NOT: FUSEC_KERNEL
// EXACT-NOT: m_div_by_sum(
// Shares are divided approximately: not where sums are of f64.
// F64-NOT: m_div_by_sum(
// F64: FUSEC_KERNEL
// F64-NOT: m_div_by_sum(
func.func @main(%x: tensor<4x300000xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %sum = graph.reduce sum %x [1] : tensor<4x300000xf32> -> tensor<4xf32>
  %count = graph.constant dense<300000.0> : tensor<4xf32>
  %mean = graph.div %sum, %count : tensor<4xf32>
  %wide = graph.broadcast %mean [0] : tensor<4xf32> -> tensor<4x300000xf32>
  %d = graph.sub %x, %wide : tensor<4x300000xf32>
  %square = graph.mul %d, %d : tensor<4x300000xf32>
  %squares = graph.reduce sum %square [1] : tensor<4x300000xf32> -> tensor<4xf32>
  %variance = graph.div %squares, %count : tensor<4xf32>
  return %mean, %variance : tensor<4xf32>, tensor<4xf32>
}
