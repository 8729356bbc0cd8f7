func.func @main(%x: tensor<4x6x15xf32>) -> tensor<4x259xf32> {
  %b = graph.broadcast %x [0, 1, 3] : tensor<4x6x15xf32> -> tensor<4x6x8x15xf32>
  %r = graph.reshape %b : tensor<4x6x8x15xf32> -> tensor<4x720xf32>
  %s = graph.slice %r offsets [0, 625] strides [1, -2] : tensor<4x720xf32> -> tensor<4x259xf32>
  %n = graph.neg %s : tensor<4x259xf32>
  return %n : tensor<4x259xf32>
}
