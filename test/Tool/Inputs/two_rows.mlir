// Sums over rows, then over columns: two kernels.
func.func @main(%x: tensor<512x300xf32>) -> tensor<300xf32> {
  %s = graph.reduce sum %x [1] : tensor<512x300xf32> -> tensor<512xf32>
  %b = graph.broadcast %s [0] : tensor<512xf32> -> tensor<512x300xf32>
  %p = graph.mul %x, %b : tensor<512x300xf32>
  %r = graph.reduce sum %p [0] : tensor<512x300xf32> -> tensor<300xf32>
  return %r : tensor<300xf32>
}
