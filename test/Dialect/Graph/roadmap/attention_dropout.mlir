// RUN: fusec-opt %s --verify-roundtrip -o /dev/null
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize -o /dev/null
//
// Causal attention in training: scores, mask, softmax, dropout by counter-based
// random bits (a probability is dropped with p = 1/4), weighted values. The
// mask of kept probabilities is a second result.
func.func @f(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x6x4xf32>, %v: tensor<2x2x6x4xf32>,
             %seed: tensor<ui64>, %offset: tensor<ui64>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x6xi1>) {
  %s0 = graph.contract %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32> -> tensor<2x2x6x6xf32>
  %half = graph.constant dense<0.5> : tensor<2x2x6x6xf32>
  %s1 = graph.mul %s0, %half : tensor<2x2x6x6xf32>
  %row = graph.iota 2 : tensor<2x2x6x6xi32>
  %column = graph.iota 3 : tensor<2x2x6x6xi32>
  %past = graph.compare le %column, %row : tensor<2x2x6x6xi32>
  %never = graph.constant dense<0xFF800000> : tensor<2x2x6x6xf32>
  %s2 = graph.select %past, %s1, %never : tensor<2x2x6x6xi1>, tensor<2x2x6x6xf32>
  %p = graph.softmax %s2 [3] : tensor<2x2x6x6xf32>
  %bits = graph.philox %seed, %offset : tensor<ui64> -> tensor<2x2x6x6xui32>
  %quarter = graph.constant dense<1073741824> : tensor<2x2x6x6xui32>
  %kept = graph.compare ge %bits, %quarter : tensor<2x2x6x6xui32>
  %grow = graph.constant dense<1.3333333333333333> : tensor<2x2x6x6xf32>
  %larger = graph.mul %p, %grow : tensor<2x2x6x6xf32>
  %zero = graph.constant dense<0.0> : tensor<2x2x6x6xf32>
  %dropped = graph.select %kept, %larger, %zero : tensor<2x2x6x6xi1>, tensor<2x2x6x6xf32>
  %out = graph.contract %dropped, %v batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x2x6x6xf32>, tensor<2x2x6x4xf32> -> tensor<2x2x6x4xf32>
  return %out, %kept : tensor<2x2x6x4xf32>, tensor<2x2x6x6xi1>
}
