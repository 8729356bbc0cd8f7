// A kernel that reads what another one makes: sums of rows, then of their sums.
func.func @main(%x: tensor<100x10xf32>) -> tensor<10xf32> {
  %0 = graph.reduce sum %x [1] : tensor<100x10xf32> -> tensor<100xf32>
  %1 = graph.reshape %0 : tensor<100xf32> -> tensor<10x10xf32>
  %2 = graph.reduce max %1 [0] : tensor<10x10xf32> -> tensor<10xf32>
  return %2 : tensor<10xf32>
}
