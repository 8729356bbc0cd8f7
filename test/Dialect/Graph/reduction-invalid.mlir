// RUN: fusec-opt %s --split-input-file --verify-diagnostics

func.func @reduce_dim(%x: tensor<4x5xf32>) {
  // expected-error@+2 {{dimension 2 is outside the rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x [2] : tensor<4x5xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_twice(%x: tensor<4x5xf32>) {
  // expected-error@+2 {{dimension 1 is named twice}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x [1, 1] : tensor<4x5xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<4x5xf32>) {
  // expected-error@+2 {{dimensions must increase}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x [1, 0] : tensor<4x5xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_bool_sum(%x: tensor<4xi1>) {
  // expected-error@+1 {{'sum' needs number elements}}
  %0 = graph.reduce sum %x [0] : tensor<4xi1> -> tensor<i1>
  return
}

// -----

func.func @reduce_float_all(%x: tensor<4xf32>) {
  // expected-error@+1 {{'all' needs bool elements}}
  %0 = graph.reduce all %x [0] : tensor<4xf32> -> tensor<f32>
  return
}

// -----

func.func @arg_kind(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected kind max or min, found sum}}
  %0 = graph.arg_reduce sum %x dimension = 0 : tensor<4xf32> -> tensor<i64>
  return
}

// -----

func.func @arg_dimension(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimension -1 is outside the rank 1}}
  %0 = graph.arg_reduce max %x dimension = -1 : tensor<4xf32> -> tensor<i64>
  return
}

// -----

func.func @arg_shape(%x: tensor<4x5xf32>) {
  // expected-error@+1 {{expected result shape 4, found 5}}
  %0 = graph.arg_reduce max %x dimension = 1 : tensor<4x5xf32> -> tensor<5xi64>
  return
}

// -----

func.func @arg_empty(%x: tensor<4x0xf32>) {
  // expected-error@+1 {{dimension 1 has no elements}}
  %0 = graph.arg_reduce max %x dimension = 1 : tensor<4x0xf32> -> tensor<4xi64>
  return
}

// -----

func.func @arg_narrow(%x: tensor<129xf32>) {
  // expected-error@+1 {{indices below 129 do not fit in 'i8'}}
  %0 = graph.arg_reduce max %x dimension = 0 : tensor<129xf32> -> tensor<i8>
  return
}

// -----

func.func @top_kind(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected kind max or min, found prod}}
  %0 = graph.top_k prod %x dimension = 0 : tensor<4xf32> -> tensor<i64>
  return
}

// -----

func.func @top_few(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{expected at least 3 elements in dimension 1, found 2}}
  %0:3 = graph.top_k max %x dimension = 1 : tensor<4x2xf32> -> tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
  return
}

// -----

func.func @top_types(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{expected results of one type}}
  %0:2 = graph.top_k max %x dimension = 1 : tensor<4x2xf32> -> tensor<4xi64>, tensor<4xi32>
  return
}

// -----

func.func @top_narrow(%x: tensor<129xf32>) {
  // expected-error@+1 {{indices below 129 do not fit in 'i8'}}
  %0 = graph.top_k max %x dimension = 0 : tensor<129xf32> -> tensor<i8>
  return
}

// -----

func.func @cumulative_dimension(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimension 1 is outside the rank 1}}
  %0 = graph.cumulative sum %x dimension = 1 : tensor<4xf32>
  return
}

// -----

func.func @cumulative_kind(%x: tensor<4xf32>) {
  // expected-error@+1 {{'any' needs bool elements}}
  %0 = graph.cumulative any %x dimension = 0 : tensor<4xf32>
  return
}

// -----

func.func @window_length(%x: tensor<4x5xf32>) {
  // expected-error@+2 {{expected 2 entries in every window array, found 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.window_reduce sum %x window [2] strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0] : tensor<4x5xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @window_stride(%x: tensor<4xf32>) {
  // expected-error@+2 {{window of dimension 0 is out of range}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.window_reduce sum %x window [2] strides [0] dilations [1] low [0] high [0] : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

// The padded size does not fit in 64 bits.
func.func @window_overflow(%x: tensor<4xf32>) {
  // expected-error@+2 {{window of dimension 0 is out of range}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.window_reduce sum %x window [2] strides [1] dilations [1] low [9223372036854775807] high [1] : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @window_result(%x: tensor<4xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.window_reduce sum %x window [2] strides [1] dilations [1] low [0] high [0] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @window_huge(%x: tensor<1x1xf32>) {
  // expected-error@+1 {{result has more elements than 63 bits can count}}
  %0 = graph.window_reduce sum %x window [1, 1] strides [1, 1] dilations [1, 1] low [4294967295, 4294967295] high [0, 0] : tensor<1x1xf32> -> tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @scatter_depth(%x: tensor<4xf32>, %i: tensor<3x2xi64>, %u: tensor<3xf32>) {
  // expected-error@+1 {{index vectors of length 2 are longer than the rank 1}}
  %0 = graph.scatter_nd assign %x, %i, %u : tensor<4xf32>, tensor<3x2xi64>, tensor<3xf32>
  return
}

// -----

func.func @scatter_scalar_indices(%x: tensor<4xf32>, %i: tensor<i64>, %u: tensor<f32>) {
  // expected-error@+1 {{expected indices whose last dimension is static}}
  %0 = graph.scatter_nd assign %x, %i, %u : tensor<4xf32>, tensor<i64>, tensor<f32>
  return
}

// -----

func.func @scatter_updates(%x: tensor<4x5xf32>, %i: tensor<3x1xi64>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{expected updates of shape 3x5, found 3x4}}
  %0 = graph.scatter_nd assign %x, %i, %u : tensor<4x5xf32>, tensor<3x1xi64>, tensor<3x4xf32>
  return
}

// -----

func.func @scatter_element(%x: tensor<4xf32>, %i: tensor<3x1xi64>, %u: tensor<3xf16>) {
  // expected-error@+1 {{expected updates of 'f32', found 'f16'}}
  %0 = graph.scatter_nd assign %x, %i, %u : tensor<4xf32>, tensor<3x1xi64>, tensor<3xf16>
  return
}

// -----

func.func @scatter_bool_add(%x: tensor<4xi1>, %i: tensor<3x1xi64>, %u: tensor<3xi1>) {
  // expected-error@+1 {{'add' needs number elements, found 'i1'}}
  %0 = graph.scatter_nd add %x, %i, %u : tensor<4xi1>, tensor<3x1xi64>, tensor<3xi1>
  return
}

// -----

func.func @scatter_elements_axis(%x: tensor<4xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) {
  // expected-error@+1 {{dimension 1 is outside the rank 1}}
  %0 = graph.scatter_elements assign %x, %i, %u axis = 1 : tensor<4xf32>, tensor<3xi64>, tensor<3xf32>
  return
}

// -----

func.func @scatter_elements_rank(%x: tensor<4x2xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) {
  // expected-error@+1 {{expected indices of rank 2, found 1}}
  %0 = graph.scatter_elements assign %x, %i, %u axis = 0 : tensor<4x2xf32>, tensor<3xi64>, tensor<3xf32>
  return
}

// -----

func.func @scatter_elements_shape(%x: tensor<4xf32>, %i: tensor<3xi64>, %u: tensor<2xf32>) {
  // expected-error@+1 {{expected updates of shape 3, found 2}}
  %0 = graph.scatter_elements assign %x, %i, %u axis = 0 : tensor<4xf32>, tensor<3xi64>, tensor<2xf32>
  return
}

// -----

func.func @scatter_elements_size(%x: tensor<4x2xf32>, %i: tensor<3x3xi64>, %u: tensor<3x3xf32>) {
  // expected-error@+1 {{indices exceed the operand in dimension 1: 3 > 2}}
  %0 = graph.scatter_elements assign %x, %i, %u axis = 0 : tensor<4x2xf32>, tensor<3x3xi64>, tensor<3x3xf32>
  return
}
