// RUN: fusec-opt %s --split-input-file --verify-diagnostics

func.func @lhs_dims(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error@+1 {{lhs: dimension 2 is outside the rank 2}}
  %0 = graph.contract %a, %b batch [] x [] contract [2] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @rhs_dims(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error@+1 {{rhs: dimension 0 is named twice}}
  %0 = graph.contract %a, %b batch [0] x [0] contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @counts(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error@+1 {{expected as many contracted dimensions of lhs as of rhs, found 2 and 1}}
  %0 = graph.contract %a, %b batch [] x [] contract [0, 1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<6xf32>
  return
}

// -----

func.func @sizes(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error@+1 {{contracted dimensions 1 of lhs and 1 of rhs differ in size: 5 and 6}}
  %0 = graph.contract %a, %b batch [] x [] contract [1] x [1] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @result(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error@+1 {{expected result shape 4x6, found 6x4}}
  %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<6x4xf32>
  return
}

// -----

func.func @mixed(%a: tensor<4x5xf32>, %b: tensor<5x6xi8>) {
  // expected-error@+1 {{expected operands and result to be all floats or all integers, found 'i8' and 'f32'}}
  %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xi8> -> tensor<4x6xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<1x3xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{expected input, kernel and result of one rank >= 2}}
  %0 = graph.convolution %x, %w strides [1] dilations [1] low [0] high [0] dims [0, 1] x [0, 1, 2] -> [0, 1] groups = 1 : tensor<1x3xf32>, tensor<4x3x3xf32> -> tensor<1x4xf32>
  return
}

// -----

func.func @conv_dims(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{dimension 1 is named twice}}
  %0 = graph.convolution %x, %w strides [1] dilations [1] low [0] high [0] dims [0, 1, 1] x [0, 1, 2] -> [0, 1, 2] groups = 1 : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_arrays(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{expected 1 entries in every window array, found 2}}
  %0 = graph.convolution %x, %w strides [1, 1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 1 : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{expected groups to divide the 4 output channels, found 3}}
  %0 = graph.convolution %x, %w strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 3 : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_no_groups(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{expected groups to divide the 4 output channels, found 0}}
  %0 = graph.convolution %x, %w strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 0 : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_channels(%x: tensor<1x3x8xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error@+1 {{expected 2 input channels for each of 1 groups, found 3}}
  %0 = graph.convolution %x, %w strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 1 : tensor<1x3x8xf32>, tensor<4x2x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_dynamic_kernel(%x: tensor<1x3x8xf32>, %w: tensor<4x3x?xf32>) {
  // expected-error@+1 {{expected a static kernel and static channels}}
  %0 = graph.convolution %x, %w strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 1 : tensor<1x3x8xf32>, tensor<4x3x?xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_window(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{window of spatial dimension 0 is out of range}}
  %0 = graph.convolution %x, %w strides [-1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 1 : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_result(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{expected result shape 1x4x6, found 1x4x8}}
  %0 = graph.convolution %x, %w strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 1 : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @huge(%a: tensor<4294967296x1xf32>, %b: tensor<1x4294967296xf32>) {
  // expected-error@+1 {{result has more elements than 63 bits can count}}
  %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4294967296x1xf32>, tensor<1x4294967296xf32> -> tensor<4294967296x4294967296xf32>
  return
}
