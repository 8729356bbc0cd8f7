// Two inputs and two outputs, for tests of the tool.
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
  %b = graph.broadcast %y [1] : tensor<3xf32> -> tensor<2x3xf32>
  %s = graph.add %x, %b : tensor<2x3xf32>
  %c = graph.compare gt %x, %b : tensor<2x3xf32>
  return %s, %c : tensor<2x3xf32>, tensor<2x3xi1>
}
