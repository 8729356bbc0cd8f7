func.func @main(%x: tensor<1x3x140x200xf16>, %w: tensor<3x1x2x2xf16>) -> tensor<1x3x139x199xf16> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 3 : tensor<1x3x140x200xf16>, tensor<3x1x2x2xf16> -> tensor<1x3x139x199xf16>
  return %y : tensor<1x3x139x199xf16>
}
