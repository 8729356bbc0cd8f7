// RUN: fusec-opt %s --fusec-fusion-form-groups --remarks-filter="fusec-fusion" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s

// The reason, its price and the way out reach the remark engine.
// CHECK: remark: [Missed] SecondContraction
// CHECK-SAME: Category:fusec-fusion
// CHECK-SAME: Reason={{.*}} us
// CHECK-SAME: graph.contract is a second contraction
// CHECK-SAME: Suggestion=
func.func @two_products(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %q = graph.contract %p, %c batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %q : tensor<64x64xf32>
}
