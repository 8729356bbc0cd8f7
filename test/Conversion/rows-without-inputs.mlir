// RUN: fusec run %s --target=emulator --against=reference | FileCheck %s
// RUN: fusec run %s --target=host --against=reference | FileCheck %s

// Rows that are made of positions and constants: nothing is read, so no blocks
// share them (bytes of inputs divided what a block has on its way).
// CHECK: equal
// CHECK-NOT: WRONG
func.func @main(%u: tensor<2xf32>) -> (tensor<128x7x11x8xf32>, tensor<7x8xf32>, tensor<2xf32>) {
  %c = graph.constant dense<1.5> : tensor<f32>
  %i = graph.iota 3 : tensor<128x7x11x8xf32>
  %b = graph.broadcast %c [] : tensor<f32> -> tensor<128x7x11x8xf32>
  %x = graph.mul %i, %b : tensor<128x7x11x8xf32>
  %s = graph.reduce sum %x [0, 2] : tensor<128x7x11x8xf32> -> tensor<7x8xf32>
  %d = graph.broadcast %s [1, 3] : tensor<7x8xf32> -> tensor<128x7x11x8xf32>
  %y = graph.sub %x, %d : tensor<128x7x11x8xf32>
  %z = graph.exp %u : tensor<2xf32>
  return %y, %s, %z : tensor<128x7x11x8xf32>, tensor<7x8xf32>, tensor<2xf32>
}
