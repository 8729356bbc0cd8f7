// Sums over rows, then over another axis: two kernels.
func.func @main(%x: tensor<8x64x300xf32>) -> tensor<8x300xf32> {
  %s = graph.reduce sum %x [2] : tensor<8x64x300xf32> -> tensor<8x64xf32>
  %b = graph.broadcast %s [0, 1] : tensor<8x64xf32> -> tensor<8x64x300xf32>
  %p = graph.mul %x, %b : tensor<8x64x300xf32>
  %r = graph.reduce sum %p [1] : tensor<8x64x300xf32> -> tensor<8x300xf32>
  return %r : tensor<8x300xf32>
}
