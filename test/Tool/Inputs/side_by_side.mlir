// Eight small unrelated regions: four equal ones, rows and columns.
func.func @main(%a: tensor<1000xf32>, %b: tensor<2000xf32>, %c: tensor<3000xf32>, %d: tensor<4000xf32>, %e: tensor<100x70xf32>, %f: tensor<3x5000xf32>, %g: tensor<129x64xf16>, %h: tensor<77xbf16>) -> (tensor<1000xf32>, tensor<2000xf32>, tensor<3000xf32>, tensor<4000xf32>, tensor<100xf32>, tensor<3xf32>, tensor<64xf16>, tensor<77xbf16>) {
  %0 = graph.exp %a : tensor<1000xf32>
  %1 = graph.exp %b : tensor<2000xf32>
  %2 = graph.exp %c : tensor<3000xf32>
  %3 = graph.exp %d : tensor<4000xf32>
  %4 = graph.reduce max %e [1] : tensor<100x70xf32> -> tensor<100xf32>
  %5 = graph.reduce max %f [1] : tensor<3x5000xf32> -> tensor<3xf32>
  %6 = graph.reduce max %g [0] : tensor<129x64xf16> -> tensor<64xf16>
  %7 = graph.neg %h : tensor<77xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<1000xf32>, tensor<2000xf32>, tensor<3000xf32>, tensor<4000xf32>, tensor<100xf32>, tensor<3xf32>, tensor<64xf16>, tensor<77xbf16>
}
