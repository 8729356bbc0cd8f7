// RUN: fusec-opt %s --verify-roundtrip -o /dev/null
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize -o /dev/null
//
// Variable-rate shading: the variance of luminance in each 4x4 tile chooses a
// rate of 1, 2 or 4; only pixels whose coordinates are multiples of it are
// shaded and the others copy the shaded pixel at their corner.
func.func @f(%image: tensor<16x12x3xf32>) -> (tensor<4x3xi32>, tensor<16x12xi1>, tensor<16x12x3xf32>) {
  %luma = graph.constant dense<[0.25, 0.625, 0.125]> : tensor<3xf32>
  %y = graph.contract %image, %luma batch [] x [] contract [2] x [0] : tensor<16x12x3xf32>, tensor<3xf32> -> tensor<16x12xf32>
  %sum = graph.window_reduce sum %y window [4, 4] strides [4, 4] dilations [1, 1] low [0, 0] high [0, 0] : tensor<16x12xf32> -> tensor<4x3xf32>
  %n = graph.constant dense<16.0> : tensor<4x3xf32>
  %mean = graph.div %sum, %n : tensor<4x3xf32>
  // Every pixel's tile value: an index map and no arithmetic.
  %mean6 = graph.broadcast %mean [0, 2] : tensor<4x3xf32> -> tensor<4x4x3x4xf32>
  %meanb = graph.reshape %mean6 : tensor<4x4x3x4xf32> -> tensor<16x12xf32>
  %centred = graph.sub %y, %meanb : tensor<16x12xf32>
  %square = graph.mul %centred, %centred : tensor<16x12xf32>
  %squares = graph.window_reduce sum %square window [4, 4] strides [4, 4] dilations [1, 1] low [0, 0] high [0, 0] : tensor<16x12xf32> -> tensor<4x3xf32>
  %variance = graph.div %squares, %n : tensor<4x3xf32>
  %busy = graph.constant dense<0.02> : tensor<4x3xf32>
  %calm = graph.constant dense<0.002> : tensor<4x3xf32>
  %isBusy = graph.compare ge %variance, %busy : tensor<4x3xf32>
  %isMild = graph.compare ge %variance, %calm : tensor<4x3xf32>
  %r1 = graph.constant dense<1> : tensor<4x3xi32>
  %r2 = graph.constant dense<2> : tensor<4x3xi32>
  %r4 = graph.constant dense<4> : tensor<4x3xi32>
  %mild = graph.select %isMild, %r2, %r4 : tensor<4x3xi1>, tensor<4x3xi32>
  %rate = graph.select %isBusy, %r1, %mild : tensor<4x3xi1>, tensor<4x3xi32>
  %rate6 = graph.broadcast %rate [0, 2] : tensor<4x3xi32> -> tensor<4x4x3x4xi32>
  %rateb = graph.reshape %rate6 : tensor<4x4x3x4xi32> -> tensor<16x12xi32>
  %row = graph.iota 0 : tensor<16x12xi32>
  %column = graph.iota 1 : tensor<16x12xi32>
  %rowRest = graph.rem %row, %rateb : tensor<16x12xi32>
  %columnRest = graph.rem %column, %rateb : tensor<16x12xi32>
  %rests = graph.or %rowRest, %columnRest : tensor<16x12xi32>
  %zero = graph.constant dense<0> : tensor<16x12xi32>
  %shaded = graph.compare eq %rests, %zero : tensor<16x12xi32>
  %sourceRow = graph.sub %row, %rowRest : tensor<16x12xi32>
  %sourceColumn = graph.sub %column, %columnRest : tensor<16x12xi32>
  %row1 = graph.reshape %sourceRow : tensor<16x12xi32> -> tensor<16x12x1xi32>
  %column1 = graph.reshape %sourceColumn : tensor<16x12xi32> -> tensor<16x12x1xi32>
  %source = graph.concat %row1, %column1 axis = 2 : tensor<16x12x1xi32>, tensor<16x12x1xi32> -> tensor<16x12x2xi32>
  %result = graph.gather_nd %image, %source : tensor<16x12x3xf32>, tensor<16x12x2xi32> -> tensor<16x12x3xf32>
  return %rate, %shaded, %result : tensor<4x3xi32>, tensor<16x12xi1>, tensor<16x12x3xf32>
}
