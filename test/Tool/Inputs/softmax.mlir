// A softmax over rows of a prime length.
func.func @main(%x: tensor<5x257xf32>) -> tensor<5x257xf32> {
  %m = graph.reduce max %x [1] : tensor<5x257xf32> -> tensor<5xf32>
  %mb = graph.broadcast %m [0] : tensor<5xf32> -> tensor<5x257xf32>
  %d = graph.sub %x, %mb : tensor<5x257xf32>
  %e = graph.exp %d : tensor<5x257xf32>
  %s = graph.reduce sum %e [1] : tensor<5x257xf32> -> tensor<5xf32>
  %sb = graph.broadcast %s [0] : tensor<5xf32> -> tensor<5x257xf32>
  %r = graph.div %e, %sb : tensor<5x257xf32>
  return %r : tensor<5x257xf32>
}
