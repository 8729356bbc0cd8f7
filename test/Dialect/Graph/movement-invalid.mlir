// RUN: fusec-opt %s --split-input-file --verify-diagnostics

func.func @iota() {
  // expected-error @+1 {{axis must be in [0, 1), found 1}}
  %0 = graph.iota 1 : tensor<4xi32>
  return
}

// -----

func.func @iota_huge() {
  // expected-error @+1 {{result has more elements than 63 bits can count}}
  %0 = graph.iota 0 : tensor<4294967296x4294967296xi32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{dimensions must be strictly increasing in [0, 2), found 0 at 1}}
  %0 = graph.broadcast %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<2xf32>) {
  // expected-error @+1 {{dimension 0 of the operand must have size 1 or 3, found 2}}
  %0 = graph.broadcast %x [0] : tensor<2xf32> -> tensor<3xf32>
  return
}

// -----

func.func @broadcast_count(%x: tensor<2xf32>) {
  // expected-error @+1 {{dimensions must have one entry per dimension, expected 1, found 2}}
  %0 = graph.broadcast %x [0, 1] : tensor<2xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_element(%x: tensor<2xf32>) {
  // expected-error @+1 {{operand and result must have one element type, found 'f32' and 'f16'}}
  %0 = graph.broadcast %x [0] : tensor<2xf32> -> tensor<2x3xf16>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{must keep the number of elements, found 6 and 8}}
  %0 = graph.reshape %x : tensor<2x3xf32> -> tensor<8xf32>
  return
}

// -----

func.func @reshape_huge(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{result has more elements than 63 bits can count}}
  %0 = graph.reshape %x : tensor<4294967296x4294967296xf32> -> tensor<8xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{permutation must hold each of the operand's 2 dimensions once}}
  %0 = graph.transpose %x [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{permutation must hold each of the operand's 2 dimensions once}}
  %0 = graph.transpose %x [0, 9223372036854775807] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{result must have type 'tensor<3x2xf32>', found 'tensor<2x3xf32>'}}
  %0 = graph.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_range(%x: tensor<10xf32>) {
  // expected-error @+1 {{dimension 0 reads 10 elements from 8 by -1, outside the operand's size}}
  %0 = graph.slice %x offsets [8] strides [-1] : tensor<10xf32> -> tensor<10xf32>
  return
}

// -----

func.func @slice_before(%x: tensor<10xf32>) {
  // expected-error @+1 {{dimension 0 reads 2 elements from -1 by 1, outside the operand's size}}
  %0 = graph.slice %x offsets [-1] strides [1] : tensor<10xf32> -> tensor<2xf32>
  return
}

// -----

func.func @slice_before_unknown(%x: tensor<?xf32>) {
  // expected-error @+1 {{dimension 0 reads 3 elements from 1 by -1, outside the operand's size}}
  %0 = graph.slice %x offsets [1] strides [-1] : tensor<?xf32> -> tensor<3xf32>
  return
}

// -----

func.func @slice_overflow(%x: tensor<10xf32>) {
  // expected-error @+1 {{dimension 0 reads 3 elements from 0 by 9223372036854775807, outside the operand's size}}
  %0 = graph.slice %x offsets [0] strides [9223372036854775807] : tensor<10xf32> -> tensor<3xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<10xf32>) {
  // expected-error @+1 {{must keep the rank, found 1 and 2}}
  %0 = graph.slice %x offsets [0] strides [1] : tensor<10xf32> -> tensor<1x10xf32>
  return
}

// -----

func.func @slice_length(%x: tensor<10xf32>) {
  // expected-error @+1 {{offsets must have one entry per dimension, expected 1, found 0}}
  %0 = graph.slice %x offsets [] strides [1] : tensor<10xf32> -> tensor<10xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<10xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{low and high must not be negative, found -1 and 0}}
  %0 = graph.pad %x, %v low [-1] high [0] : tensor<10xf32>, tensor<f32> -> tensor<9xf32>
  return
}

// -----

func.func @pad_overflow(%x: tensor<10xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{padded size of dimension 0 overflows}}
  %0 = graph.pad %x, %v low [9223372036854775807] high [0] : tensor<10xf32>, tensor<f32> -> tensor<9xf32>
  return
}

// -----

func.func @pad_length(%x: tensor<10xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{low and high must have one entry per dimension, expected 1, found 1 and 2}}
  %0 = graph.pad %x, %v low [1] high [0, 0] : tensor<10xf32>, tensor<f32> -> tensor<11xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<10xf32>, %v: tensor<1xf32>) {
  // expected-error @+1 {{value must have rank 0, found 1}}
  %0 = graph.pad %x, %v low [1] high [0] : tensor<10xf32>, tensor<1xf32> -> tensor<11xf32>
  return
}

// -----

func.func @pad_value_type(%x: tensor<10xf32>, %v: tensor<f16>) {
  // expected-error @+1 {{value must have the element type of the operand, expected 'f32', found 'f16'}}
  %0 = graph.pad %x, %v low [1] high [0] : tensor<10xf32>, tensor<f16> -> tensor<11xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis must be in [0, 2), found -1}}
  %0 = graph.concat %x, %x axis = -1 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_size(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error @+1 {{input 1 must have size 2 in dimension 0, found 4}}
  %0 = graph.concat %x, %y axis = 1 : tensor<2x3xf32>, tensor<4x3xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_type(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  // expected-error @+1 {{inputs must have one rank and element type, found tensor<2x3xf32> and tensor<2x3xf16>}}
  %0 = graph.concat %x, %y axis = 1 : tensor<2x3xf32>, tensor<2x3xf16> -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_overflow(%x: tensor<9223372036854775807xf32>) {
  // expected-error @+1 {{joined size of dimension 0 overflows}}
  %0 = graph.concat %x, %x axis = 0 : tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32> -> tensor<1xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @+1 {{expects at least one input}}
  %0 = "graph.concat"() {axis = 0 : i64} : () -> tensor<1xf32>
  return
}

// -----

func.func @gather_axis(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{axis must be in [0, 2), found 2}}
  %0 = graph.gather %x, %i axis = 2 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_empty(%x: tensor<0x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{axis 0 of the operand must not be empty, found size 0}}
  %0 = graph.gather %x, %i axis = 0 : tensor<0x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_elements_size(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{indices must not exceed the operand's size 2 in dimension 0, found 4}}
  %0 = graph.gather_elements %x, %i axis = 1 : tensor<2x3xf32>, tensor<4x1xi64> -> tensor<4x1xf32>
  return
}

// -----

func.func @gather_elements_rank(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{operand and indices must have one rank, found 2 and 1}}
  %0 = graph.gather_elements %x, %i axis = 0 : tensor<2x3xf32>, tensor<2xi64> -> tensor<2xf32>
  return
}

// -----

func.func @gather_nd_rank(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{batchDims and index vectors must not exceed the operand's rank 2, found 0 and 3}}
  %0 = graph.gather_nd %x, %i : tensor<2x3xf32>, tensor<4x3xi64> -> tensor<4xf32>
  return
}

// -----

func.func @gather_nd_batch(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{batch dimension 0 must agree, found 2 and 4}}
  %0 = graph.gather_nd %x, %i {batchDims = 1 : i64} : tensor<2x3xf32>, tensor<4x1xi64> -> tensor<4xf32>
  return
}

// -----

func.func @gather_nd_batch_range(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{batchDims must be in [0, 2), found 2}}
  %0 = graph.gather_nd %x, %i {batchDims = 2 : i64} : tensor<2x3xf32>, tensor<4x1xi64> -> tensor<4xf32>
  return
}

// -----

func.func @gather_nd_scalar(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{indices must have rank 1 or more, found 0}}
  %0 = graph.gather_nd %x, %i : tensor<2x3xf32>, tensor<i64> -> tensor<3xf32>
  return
}

// -----

func.func @gather_nd_dynamic(%x: tensor<2x3xf32>, %i: tensor<4x?xi64>) {
  // expected-error @+1 {{the last dimension of indices must be static}}
  %0 = graph.gather_nd %x, %i : tensor<2x3xf32>, tensor<4x?xi64> -> tensor<4xf32>
  return
}

// -----

func.func @gather_nd_type(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{result must have type 'tensor<4x3xf32>', found 'tensor<4xf32>'}}
  %0 = graph.gather_nd %x, %i : tensor<2x3xf32>, tensor<4x1xi64> -> tensor<4xf32>
  return
}

// -----

func.func @philox(%s: tensor<1xui64>) {
  // expected-error @+1 {{seed and offset must have rank 0, found 1}}
  %0 = graph.philox %s, %s : tensor<1xui64> -> tensor<4xui32>
  return
}
