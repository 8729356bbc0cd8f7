// Windows of one element along the outermost axis, whose padding is a whole
// image more.
func.func @f(%x: tensor<3x31x33xf32>) -> (tensor<5x31x33xf32>, tensor<4x31x33xf32>) {
  %a = graph.window_reduce prod %x window [1, 1, 1] strides [1, 1, 1] dilations [1, 1, 1] low [1, 0, 0] high [1, 0, 0] : tensor<3x31x33xf32> -> tensor<5x31x33xf32>
  %b = graph.window_reduce sum %x window [1, 3, 3] strides [1, 1, 1] dilations [1, 1, 1] low [0, 1, 1] high [1, 1, 1] : tensor<3x31x33xf32> -> tensor<4x31x33xf32>
  return %a, %b : tensor<5x31x33xf32>, tensor<4x31x33xf32>
}
