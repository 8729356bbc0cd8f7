// RUN: fusec-opt %s --verify-roundtrip -o /dev/null
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize -o /dev/null
//
// An LSTM layer as a scan over time; gates in the order input, forget, cell,
// output. Weights are values from outside the body.
func.func @f(%xs: tensor<5x2x3xf32>, %h0: tensor<2x4xf32>, %c0: tensor<2x4xf32>, %wx: tensor<3x16xf32>,
             %wh: tensor<4x16xf32>, %bias: tensor<16xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %r:3 = graph.scan carry(%h0, %c0) over(%xs) trips = 5
      : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<5x2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<5x2x4xf32>) {
  ^bb0(%h: tensor<2x4xf32>, %c: tensor<2x4xf32>, %x: tensor<2x3xf32>):
    %a = graph.contract %x, %wx batch [] x [] contract [1] x [0] : tensor<2x3xf32>, tensor<3x16xf32> -> tensor<2x16xf32>
    %b = graph.contract %h, %wh batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x16xf32> -> tensor<2x16xf32>
    %ab = graph.add %a, %b : tensor<2x16xf32>
    %biasb = graph.broadcast %bias [1] : tensor<16xf32> -> tensor<2x16xf32>
    %gates = graph.add %ab, %biasb : tensor<2x16xf32>
    %i0 = graph.slice %gates offsets [0, 0] strides [1, 1] : tensor<2x16xf32> -> tensor<2x4xf32>
    %f0 = graph.slice %gates offsets [0, 4] strides [1, 1] : tensor<2x16xf32> -> tensor<2x4xf32>
    %g0 = graph.slice %gates offsets [0, 8] strides [1, 1] : tensor<2x16xf32> -> tensor<2x4xf32>
    %o0 = graph.slice %gates offsets [0, 12] strides [1, 1] : tensor<2x16xf32> -> tensor<2x4xf32>
    %i = graph.logistic %i0 : tensor<2x4xf32>
    %f = graph.logistic %f0 : tensor<2x4xf32>
    %g = graph.tanh %g0 : tensor<2x4xf32>
    %o = graph.logistic %o0 : tensor<2x4xf32>
    %keep = graph.mul %f, %c : tensor<2x4xf32>
    %new = graph.mul %i, %g : tensor<2x4xf32>
    %c1 = graph.add %keep, %new : tensor<2x4xf32>
    %t = graph.tanh %c1 : tensor<2x4xf32>
    %h1 = graph.mul %o, %t : tensor<2x4xf32>
    graph.yield %h1, %c1, %h1 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  }
  return %r#2, %r#0, %r#1 : tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
