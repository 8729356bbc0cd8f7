// RUN: fusec-opt %s --canonicalize | FileCheck %s

// Repeated inputs, unused inputs, repeated results and unused results go.
// CHECK-LABEL: func @slim
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @slim(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[R:.*]] = graph.fusion(%[[A:.*]] = %[[X]]) attributes {note} : (tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[S:.*]] = graph.mul %[[A]], %[[A]]
  // CHECK-NEXT: graph.yield %[[S]] : tensor<4xf32>
  // CHECK: graph.add %[[R]], %[[R]]
  %r:3 = graph.fusion(%a = %x, %b = %x, %c = %y) attributes {note} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %s = graph.mul %a, %b : tensor<4xf32>
    %t = graph.exp %c : tensor<4xf32>
    graph.yield %s, %t, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %q = graph.add %r#0, %r#2 : tensor<4xf32>
  return %q : tensor<4xf32>
}

// A result that is an input stands for it; a fusion without results dies.
// CHECK-LABEL: func @passed_through
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NOT: graph.fusion
// CHECK: return %[[X]]
func.func @passed_through(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = graph.fusion(%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %t = graph.exp %a : tensor<4xf32>
    graph.yield %a, %t : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<4xf32>
}

// Nothing to do: the op stays as it is.
// CHECK-LABEL: func @stays
// CHECK: graph.fusion(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @stays(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = graph.fusion(%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %s = graph.mul %a, %b : tensor<4xf32>
    %t = graph.exp %s : tensor<4xf32>
    graph.yield %s, %t : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
