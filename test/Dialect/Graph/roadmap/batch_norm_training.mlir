// RUN: fusec-opt %s --verify-roundtrip -o /dev/null
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize -o /dev/null
//
// Batch normalisation in training: statistics of the batch normalise it and
// move the running statistics (momentum 0.9, unbiased variance); also the
// gradient of the input for a given gradient of the result.
func.func @f(%x: tensor<4x3x5x2xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %runMean: tensor<3xf32>,
             %runVar: tensor<3xf32>, %grad: tensor<4x3x5x2xf32>)
    -> (tensor<4x3x5x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5x2xf32>) {
  %n = graph.constant dense<40.0> : tensor<3xf32>
  %sum = graph.reduce sum %x [0, 2, 3] : tensor<4x3x5x2xf32> -> tensor<3xf32>
  %mean = graph.div %sum, %n : tensor<3xf32>
  %meanb = graph.broadcast %mean [1] : tensor<3xf32> -> tensor<4x3x5x2xf32>
  %centred = graph.sub %x, %meanb : tensor<4x3x5x2xf32>
  %squares = graph.mul %centred, %centred : tensor<4x3x5x2xf32>
  %sumSquares = graph.reduce sum %squares [0, 2, 3] : tensor<4x3x5x2xf32> -> tensor<3xf32>
  %variance = graph.div %sumSquares, %n : tensor<3xf32>
  %y = graph.batch_norm %x, %scale, %bias, %mean, %variance channel = 1 epsilon = 1.0e-5
      : tensor<4x3x5x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  // Running statistics.
  %keep = graph.constant dense<0.9> : tensor<3xf32>
  %take = graph.constant dense<0.1> : tensor<3xf32>
  %n1 = graph.constant dense<39.0> : tensor<3xf32>
  %unbiased = graph.div %sumSquares, %n1 : tensor<3xf32>
  %oldMean = graph.mul %runMean, %keep : tensor<3xf32>
  %newMean = graph.mul %mean, %take : tensor<3xf32>
  %nextMean = graph.add %oldMean, %newMean : tensor<3xf32>
  %oldVar = graph.mul %runVar, %keep : tensor<3xf32>
  %newVar = graph.mul %unbiased, %take : tensor<3xf32>
  %nextVar = graph.add %oldVar, %newVar : tensor<3xf32>
  // dx = scale / std * (dy - mean(dy) - xhat * mean(dy * xhat)).
  %eps = graph.constant dense<1.0e-5> : tensor<3xf32>
  %shifted = graph.add %variance, %eps : tensor<3xf32>
  %inverse = graph.rsqrt %shifted : tensor<3xf32>
  %inverseb = graph.broadcast %inverse [1] : tensor<3xf32> -> tensor<4x3x5x2xf32>
  %xhat = graph.mul %centred, %inverseb : tensor<4x3x5x2xf32>
  %sumGrad = graph.reduce sum %grad [0, 2, 3] : tensor<4x3x5x2xf32> -> tensor<3xf32>
  %meanGrad = graph.div %sumGrad, %n : tensor<3xf32>
  %product = graph.mul %grad, %xhat : tensor<4x3x5x2xf32>
  %sumProduct = graph.reduce sum %product [0, 2, 3] : tensor<4x3x5x2xf32> -> tensor<3xf32>
  %meanProduct = graph.div %sumProduct, %n : tensor<3xf32>
  %meanGradb = graph.broadcast %meanGrad [1] : tensor<3xf32> -> tensor<4x3x5x2xf32>
  %meanProductb = graph.broadcast %meanProduct [1] : tensor<3xf32> -> tensor<4x3x5x2xf32>
  %along = graph.mul %xhat, %meanProductb : tensor<4x3x5x2xf32>
  %d0 = graph.sub %grad, %meanGradb : tensor<4x3x5x2xf32>
  %d1 = graph.sub %d0, %along : tensor<4x3x5x2xf32>
  %factor = graph.mul %scale, %inverse : tensor<3xf32>
  %factorb = graph.broadcast %factor [1] : tensor<3xf32> -> tensor<4x3x5x2xf32>
  %dx = graph.mul %d1, %factorb : tensor<4x3x5x2xf32>
  return %y, %nextMean, %nextVar, %dx : tensor<4x3x5x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3x5x2xf32>
}
