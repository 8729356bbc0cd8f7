// RUN: fusec-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func @fusion
func.func @fusion(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.fusion(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[S:.*]] = graph.add %[[A]], %[[B]]
  // CHECK-NEXT: graph.yield %[[S]] : tensor<4xf32>
  %r = graph.fusion(%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %s = graph.add %a, %b : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  // CHECK: graph.fusion() attributes {note} : () -> () {
  // CHECK-NEXT: }
  graph.fusion() attributes {note} : () -> () {
  }
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func @while
func.func @while(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %one = graph.constant dense<1> : tensor<i32>
  %zero = graph.constant dense<0> : tensor<i32>
  // CHECK: graph.while(%{{.*}}, %{{.*}}) max_trips = 10 : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  %r:2 = graph.while (%n, %x) max_trips = 10 : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
    %more = graph.compare gt %i, %zero : tensor<i32>
    // CHECK: graph.yield %{{.*}} : tensor<i1>
    graph.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
    %next = graph.sub %i, %one : tensor<i32>
    %twice = graph.add %v, %v : tensor<4xf32>
    graph.yield %next, %twice : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// A loop that never runs.
// CHECK-LABEL: func @while_never
func.func @while_never(%n: tensor<i1>) -> tensor<i1> {
  // CHECK: graph.while(%{{.*}}) max_trips = 0 : (tensor<i1>) -> tensor<i1>
  %r = graph.while (%n) max_trips = 0 : (tensor<i1>) -> tensor<i1> {
  ^bb0(%i: tensor<i1>):
    graph.yield %i : tensor<i1>
  } do {
  ^bb0(%i: tensor<i1>):
    graph.yield %i : tensor<i1>
  }
  return %r : tensor<i1>
}

// CHECK-LABEL: func @scan
func.func @scan(%h: tensor<3xf32>, %xs: tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
  // CHECK: graph.scan carry(%{{.*}}) over(%{{.*}}) trips = 5 {reverse = true} : (tensor<3xf32>, tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>)
  %r:2 = graph.scan carry(%h) over(%xs) trips = 5 {reverse = true} : (tensor<3xf32>, tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
  ^bb0(%s: tensor<3xf32>, %x: tensor<3xf32>):
    %next = graph.add %s, %x : tensor<3xf32>
    graph.yield %next, %s : tensor<3xf32>, tensor<3xf32>
  }
  return %r#0, %r#1 : tensor<3xf32>, tensor<5x3xf32>
}

// Parts of a launch; the second reads what the first makes.
// CHECK-LABEL: func @chain
func.func @chain(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: graph.fusion(%[[A:.*]] = %{{.*}}) : (tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: %[[P:.*]] = graph.fusion(%{{.*}} = %[[A]])
  // CHECK: %[[Q:.*]] = graph.fusion(%{{.*}} = %[[P]])
  // CHECK: graph.yield %[[Q]]
  %0 = graph.fusion(%a = %x) : (tensor<3xf32>) -> tensor<3xf32> {
    %p = graph.fusion(%b = %a) : (tensor<3xf32>) -> tensor<3xf32> {
      %e = graph.exp %b : tensor<3xf32>
      graph.yield %e : tensor<3xf32>
    }
    %q = graph.fusion(%b = %p) : (tensor<3xf32>) -> tensor<3xf32> {
      %e = graph.neg %b : tensor<3xf32>
      graph.yield %e : tensor<3xf32>
    }
    graph.yield %q : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}
