// Lists of a divided row meet as other states do.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: select_greatest<2, 1, 32>(
// CHECK: bar();
// CHECK: ticket(
func.func @main(%x: tensor<2x1000000xf32>) -> (tensor<2xi64>, tensor<2xi64>) {
  %i:2 = graph.top_k min %x dimension = 1 : tensor<2x1000000xf32> -> tensor<2xi64>, tensor<2xi64>
  return %i#0, %i#1 : tensor<2xi64>, tensor<2xi64>
}
