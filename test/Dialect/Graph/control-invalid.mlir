// RUN: fusec-opt %s --split-input-file --verify-diagnostics

func.func @fusion_argument(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected body argument 0 of type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<5xf32>):
    "graph.yield"(%a) : (tensor<5xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @fusion_value(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected body value 0 of type 'tensor<5xf32>', found 'tensor<4xf32>'}}
  %0 = graph.fusion(%a = %x) : (tensor<4xf32>) -> tensor<5xf32> {
    graph.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_values(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected 1 body values, found 2}}
  %0 = graph.fusion(%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    graph.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_isolated(%x: tensor<4xf32>) {
  // expected-note@+1 {{required by region isolation constraints}}
  %0 = graph.fusion(%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{using value defined outside the region}}
    %s = graph.add %a, %x : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{number of operands and types do not match: got 1 operands and 2 types}}
  %0 = graph.fusion(%a = %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    graph.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @stray_yield(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects parent op to be one of 'graph.fusion, graph.while, graph.scan'}}
  graph.yield %x : tensor<4xf32>
}

// -----

func.func @while_condition(%x: tensor<i32>) {
  // expected-error@+1 {{expected condition value 0 of type 'tensor<i1>', found 'tensor<i32>'}}
  %0 = graph.while (%x) max_trips = 3 : (tensor<i32>) -> tensor<i32> {
  ^bb0(%i: tensor<i32>):
    graph.yield %i : tensor<i32>
  } do {
  ^bb0(%i: tensor<i32>):
    graph.yield %i : tensor<i32>
  }
  return
}

// -----

func.func @while_trips(%x: tensor<i1>) {
  // expected-error@+1 {{expected max_trips >= 0, found -1}}
  %0 = graph.while (%x) max_trips = -1 : (tensor<i1>) -> tensor<i1> {
  ^bb0(%i: tensor<i1>):
    graph.yield %i : tensor<i1>
  } do {
  ^bb0(%i: tensor<i1>):
    graph.yield %i : tensor<i1>
  }
  return
}

// -----

func.func @while_results(%x: tensor<i1>) {
  // expected-error@+1 {{expected result 0 of type 'tensor<i1>', found 'tensor<i8>'}}
  %0 = graph.while (%x) max_trips = 1 : (tensor<i1>) -> tensor<i8> {
  ^bb0(%i: tensor<i1>):
    graph.yield %i : tensor<i1>
  } do {
  ^bb0(%i: tensor<i1>):
    graph.yield %i : tensor<i1>
  }
  return
}

// -----

func.func @while_terminator(%x: tensor<i1>) {
  // expected-error@+1 {{expected a body of one block that ends in graph.yield}}
  %0 = "graph.while"(%x) <{maxTrips = 1 : i64}> ({
  ^bb0(%i: tensor<i1>):
    "graph.yield"(%i) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i1>):
  }) : (tensor<i1>) -> tensor<i1>
  return
}

// -----

func.func @scan_results(%h: tensor<3xf32>) {
  // expected-error@+1 {{expected at least 1 results, found 0}}
  graph.scan carry(%h) over() trips = 5 : (tensor<3xf32>) -> () {
  ^bb0(%s: tensor<3xf32>):
    graph.yield %s : tensor<3xf32>
  }
  return
}

// -----

func.func @scan_input(%h: tensor<3xf32>, %xs: tensor<4x3xf32>) {
  // expected-error@+1 {{expected an input with leading size 5, found 'tensor<4x3xf32>'}}
  %0 = graph.scan carry(%h) over(%xs) trips = 5 : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<3xf32> {
  ^bb0(%s: tensor<3xf32>, %x: tensor<3xf32>):
    graph.yield %s : tensor<3xf32>
  }
  return
}

// -----

func.func @scan_stacked(%h: tensor<3xf32>) {
  // expected-error@+1 {{expected a stacked result with leading size 5, found 'tensor<f32>'}}
  %0:2 = graph.scan carry(%h) over() trips = 5 : (tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  ^bb0(%s: tensor<3xf32>):
    graph.yield %s, %s : tensor<3xf32>, tensor<3xf32>
  }
  return
}

// -----

func.func @scan_slice(%h: tensor<3xf32>) {
  // expected-error@+1 {{expected body value 1 of type 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0:2 = graph.scan carry(%h) over() trips = 5 : (tensor<3xf32>) -> (tensor<3xf32>, tensor<5x2xf32>) {
  ^bb0(%s: tensor<3xf32>):
    graph.yield %s, %s : tensor<3xf32>, tensor<3xf32>
  }
  return
}

// -----

func.func @scan_trips(%h: tensor<3xf32>) {
  // expected-error@+1 {{expected trips >= 0, found -5}}
  %0 = graph.scan carry(%h) over() trips = -5 : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%s: tensor<3xf32>):
    graph.yield %s : tensor<3xf32>
  }
  return
}

// -----

func.func @mixed_parts(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0:2 = graph.fusion(%a = %x) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %p = graph.fusion(%b = %a) : (tensor<3xf32>) -> tensor<3xf32> {
      %e = graph.exp %b : tensor<3xf32>
      graph.yield %e : tensor<3xf32>
    }
    // expected-error@+1 {{is beside parts of a launch: expected fusions only}}
    %q = graph.neg %a : tensor<3xf32>
    graph.yield %p, %q : tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xf32>
}
