// Operands of 11 digits make sums of 65 terms differ by more than 2^-11 of what
// tanh leaves of the largest one: how far is measured with such operands.
// RUN: fusec run %s --target=emulator --against=reference | FileCheck %s
// CHECK: equal, largest error
func.func @main(%x: tensor<24x65xf32>, %w: tensor<65x32xf32>) -> tensor<24x32xf32> {
  %p = graph.contract %x, %w batch [] x [] contract [1] x [0] {allowTf32 = true} : tensor<24x65xf32>, tensor<65x32xf32> -> tensor<24x32xf32>
  %t = graph.tanh %p : tensor<24x32xf32>
  return %t : tensor<24x32xf32>
}
