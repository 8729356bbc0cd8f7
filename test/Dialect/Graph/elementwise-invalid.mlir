// RUN: fusec-opt %s --split-input-file --verify-diagnostics

// There is no implicit broadcasting.
func.func @shapes(%a: tensor<4xf32>, %b: tensor<1xi1>) {
  // expected-error @+1 {{op requires the same shape for all operands and results}}
  %0 = graph.select %b, %a, %a : tensor<1xi1>, tensor<4xf32>
  return
}

// -----

func.func @element(%a: tensor<4xi32>) {
  // expected-error @+1 {{must be ranked tensor of float element type values, but got 'tensor<4xi32>'}}
  %0 = graph.exp %a : tensor<4xi32>
  return
}

// -----

func.func @signed(%a: tensor<4xsi32>) {
  // expected-error @+1 {{must be ranked tensor of float element type or integer element type values, but got 'tensor<4xsi32>'}}
  %0 = graph.add %a, %a : tensor<4xsi32>
  return
}

// -----

func.func @quantize_type(%a: tensor<4xf32>, %z: tensor<4xi64>) {
  // expected-error @+1 {{result must have float8 or integer elements of 4 to 32 bits, found 'i64'}}
  %0 = graph.quantize %a, %a, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xi64> -> tensor<4xi64>
  return
}

// -----

func.func @quantize_zero_point(%a: tensor<4xf32>, %z: tensor<4xi8>) {
  // expected-error @+1 {{zero point must have the element type of the result, expected 'ui8', found 'i8'}}
  %0 = graph.quantize %a, %a, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xi8> -> tensor<4xui8>
  return
}

// -----

func.func @dequantize_type(%a: tensor<4xi1>, %s: tensor<4xf32>) {
  // expected-error @+1 {{operand must have float8 or integer elements of 4 to 32 bits, found 'i1'}}
  %0 = graph.dequantize %a, %s, %a : tensor<4xi1>, tensor<4xf32>, tensor<4xi1> -> tensor<4xf32>
  return
}
