// A region made by hand that no kernel can be: sums along two axes of three.
func.func @main(%x: tensor<8x64x32xf32>) -> (tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x64xf32>) {
  %0:2 = graph.fusion(%a = %x) : (tensor<8x64x32xf32>) -> (tensor<8x64xf32>, tensor<8x32xf32>) {
    %e = graph.exp %a : tensor<8x64x32xf32>
    %r = graph.reduce sum %e [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
    %c = graph.reduce sum %e [1] : tensor<8x64x32xf32> -> tensor<8x32xf32>
    graph.yield %r, %c : tensor<8x64xf32>, tensor<8x32xf32>
  }
  %1 = graph.neg %0#0 : tensor<8x64xf32>
  return %0#0, %0#1, %1 : tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x64xf32>
}
