// A region made by hand that no kernel can be: sums along rows and columns.
func.func @main(%x: tensor<64x32xf32>) -> (tensor<64xf32>, tensor<32xf32>, tensor<64xf32>) {
  %0:2 = graph.fusion(%a = %x) : (tensor<64x32xf32>) -> (tensor<64xf32>, tensor<32xf32>) {
    %e = graph.exp %a : tensor<64x32xf32>
    %r = graph.reduce sum %e [1] : tensor<64x32xf32> -> tensor<64xf32>
    %c = graph.reduce sum %e [0] : tensor<64x32xf32> -> tensor<32xf32>
    graph.yield %r, %c : tensor<64xf32>, tensor<32xf32>
  }
  %1 = graph.neg %0#0 : tensor<64xf32>
  return %0#0, %0#1, %1 : tensor<64xf32>, tensor<32xf32>, tensor<64xf32>
}
