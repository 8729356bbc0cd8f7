// Windows along rows whose newest rows are carried from iteration to iteration.
func.func @f(%x: tensor<33x256xbf16>) -> (tensor<31x256xbf16>, tensor<31x254xbf16>) {
  %s = graph.window_reduce sum %x window [1, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] : tensor<33x256xbf16> -> tensor<33x256xbf16>
  %a = graph.tanh %s : tensor<33x256xbf16>
  %b = graph.window_reduce min %a window [3, 1] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] : tensor<33x256xbf16> -> tensor<31x256xbf16>
  %f = graph.floor %b : tensor<31x256xbf16>
  %c = graph.window_reduce min %f window [1, 3] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] : tensor<31x256xbf16> -> tensor<31x254xbf16>
  return %b, %c : tensor<31x256xbf16>, tensor<31x254xbf16>
}
