// RUN: fusec-opt %s --verify-roundtrip -o /dev/null
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize -o /dev/null
//
// Top-1 routing of 8 tokens to 3 experts of capacity 2. A token's place at its
// expert is the number of earlier tokens there; tokens beyond the capacity get
// the place 6, behind all, so that the scatter skips them, and give zeros.
func.func @f(%tokens: tensor<8x4xf32>, %router: tensor<4x3xf32>, %w: tensor<3x4x4xf32>)
    -> (tensor<8x4xf32>, tensor<8xi32>) {
  %logits = graph.contract %tokens, %router batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x3xf32> -> tensor<8x3xf32>
  %probs = graph.softmax %logits [1] : tensor<8x3xf32>
  %expert = graph.arg_reduce max %probs dimension = 1 : tensor<8x3xf32> -> tensor<8xi32>
  %gate = graph.reduce max %probs [1] : tensor<8x3xf32> -> tensor<8xf32>
  // Place among the tokens of the same expert.
  %expertb = graph.broadcast %expert [0] : tensor<8xi32> -> tensor<8x3xi32>
  %number = graph.iota 1 : tensor<8x3xi32>
  %chosen = graph.compare eq %expertb, %number : tensor<8x3xi32>
  %onehot = graph.cast %chosen : tensor<8x3xi1> -> tensor<8x3xi32>
  %before = graph.cumulative sum %onehot dimension = 0 {exclusive = true} : tensor<8x3xi32>
  %mine = graph.mul %before, %onehot : tensor<8x3xi32>
  %place = graph.reduce sum %mine [1] : tensor<8x3xi32> -> tensor<8xi32>
  %capacity = graph.constant dense<2> : tensor<8xi32>
  %kept = graph.compare lt %place, %capacity : tensor<8xi32>
  %base = graph.mul %expert, %capacity : tensor<8xi32>
  %inside = graph.add %base, %place : tensor<8xi32>
  %nowhere = graph.constant dense<6> : tensor<8xi32>
  %slot = graph.select %kept, %inside, %nowhere : tensor<8xi1>, tensor<8xi32>
  %slots = graph.reshape %slot : tensor<8xi32> -> tensor<8x1xi32>
  // To the experts, through them, and back.
  %empty = graph.constant dense<0.0> : tensor<6x4xf32>
  %buffer = graph.scatter_nd assign %empty, %slots, %tokens : tensor<6x4xf32>, tensor<8x1xi32>, tensor<8x4xf32>
  %batches = graph.reshape %buffer : tensor<6x4xf32> -> tensor<3x2x4xf32>
  %h = graph.contract %batches, %w batch [0] x [0] contract [2] x [1] : tensor<3x2x4xf32>, tensor<3x4x4xf32> -> tensor<3x2x4xf32>
  %act = graph.gelu tanh %h : tensor<3x2x4xf32>
  %rows = graph.reshape %act : tensor<3x2x4xf32> -> tensor<6x4xf32>
  %back = graph.gather_nd %rows, %slots : tensor<6x4xf32>, tensor<8x1xi32> -> tensor<8x4xf32>
  %gateb = graph.broadcast %gate [0] : tensor<8xf32> -> tensor<8x4xf32>
  %scaled = graph.mul %back, %gateb : tensor<8x4xf32>
  %keptb = graph.broadcast %kept [0] : tensor<8xi1> -> tensor<8x4xi1>
  %zeros = graph.constant dense<0.0> : tensor<8x4xf32>
  %result = graph.select %keptb, %scaled, %zeros : tensor<8x4xi1>, tensor<8x4xf32>
  return %result, %slot : tensor<8x4xf32>, tensor<8xi32>
}
