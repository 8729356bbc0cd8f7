// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s

// A gated unit: two products of one operand for one result.
// CHECK-LABEL: func @gated
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.contract
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @gated(%x: tensor<2048x256xbf16>, %g: tensor<256x2048xbf16>, %u: tensor<256x2048xbf16>) -> tensor<2048x2048xbf16> {
  %a = graph.contract %x, %g batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %b = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %s = graph.tanh %a : tensor<2048x2048xbf16>
  %y = graph.mul %s, %b : tensor<2048x2048xbf16>
  return %y : tensor<2048x2048xbf16>
}

// -----

// Weights that are turned on their way.
// CHECK-LABEL: func @turned
// CHECK: graph.fusion
// CHECK-DAG: graph.transpose
// CHECK-DAG: graph.transpose
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @turned(%x: tensor<2048x256xbf16>, %g: tensor<2048x256xbf16>, %u: tensor<2048x256xbf16>) -> tensor<2048x2048xbf16> {
  %h = graph.transpose %g [1, 0] : tensor<2048x256xbf16> -> tensor<256x2048xbf16>
  %v = graph.transpose %u [1, 0] : tensor<2048x256xbf16> -> tensor<256x2048xbf16>
  %a = graph.contract %x, %h batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %b = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %s = graph.tanh %a : tensor<2048x2048xbf16>
  %y = graph.mul %s, %b : tensor<2048x2048xbf16>
  return %y : tensor<2048x2048xbf16>
}

// -----

// One of them turned, the other not.
// CHECK-LABEL: func @one_turned
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @one_turned(%x: tensor<2048x256xbf16>, %g: tensor<2048x256xbf16>, %u: tensor<256x2048xbf16>) -> tensor<2048x2048xbf16> {
  %h = graph.transpose %g [1, 0] : tensor<2048x256xbf16> -> tensor<256x2048xbf16>
  %a = graph.contract %x, %h batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %b = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %s = graph.tanh %a : tensor<2048x2048xbf16>
  %y = graph.mul %s, %b : tensor<2048x2048xbf16>
  return %y : tensor<2048x2048xbf16>
}

// -----

// Of three products two are a pair, and the third one reads its result.
// CHECK-LABEL: func @three
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @three(%x: tensor<2048x256xbf16>, %g: tensor<256x2048xbf16>, %u: tensor<256x2048xbf16>, %v: tensor<256x2048xbf16>) -> tensor<2048x2048xbf16> {
  %a = graph.contract %x, %g batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %b = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %c = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %s = graph.mul %a, %b : tensor<2048x2048xbf16>
  %y = graph.mul %s, %c : tensor<2048x2048xbf16>
  return %y : tensor<2048x2048xbf16>
}

// -----

// Two results of one operand stay apart, as nothing needs both products.
// CHECK-LABEL: func @two_results
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @two_results(%x: tensor<2048x256xbf16>, %g: tensor<256x2048xbf16>, %u: tensor<256x2048xbf16>) -> (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) {
  %a = graph.contract %x, %g batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %b = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  return %a, %b : tensor<2048x2048xbf16>, tensor<2048x2048xbf16>
}

// -----

// So do products of f32, of different operands, of rows that the copy engine
// does not bring, of operands that are computed, and small ones, whose sums are
// divided.
// CHECK-LABEL: func @no_tensor_cores
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @no_tensor_cores(%x: tensor<2048x256xf32>, %g: tensor<256x2048xf32>, %u: tensor<256x2048xf32>) -> tensor<2048x2048xf32> {
  %a = graph.contract %x, %g batch [] x [] contract [1] x [0] : tensor<2048x256xf32>, tensor<256x2048xf32> -> tensor<2048x2048xf32>
  %b = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<2048x256xf32>, tensor<256x2048xf32> -> tensor<2048x2048xf32>
  %y = graph.mul %a, %b : tensor<2048x2048xf32>
  return %y : tensor<2048x2048xf32>
}

// -----

// CHECK-LABEL: func @two_operands
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @two_operands(%x: tensor<2048x256xbf16>, %z: tensor<2048x256xbf16>, %g: tensor<256x2048xbf16>, %u: tensor<256x2048xbf16>) -> tensor<2048x2048xbf16> {
  %a = graph.contract %x, %g batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %b = graph.contract %z, %u batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2048xbf16> -> tensor<2048x2048xbf16>
  %y = graph.mul %a, %b : tensor<2048x2048xbf16>
  return %y : tensor<2048x2048xbf16>
}

// -----

// CHECK-LABEL: func @odd_rows
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @odd_rows(%x: tensor<2048x256xbf16>, %g: tensor<256x2049xbf16>, %u: tensor<256x2049xbf16>) -> tensor<2048x2049xbf16> {
  %a = graph.contract %x, %g batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2049xbf16> -> tensor<2048x2049xbf16>
  %b = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<2048x256xbf16>, tensor<256x2049xbf16> -> tensor<2048x2049xbf16>
  %y = graph.mul %a, %b : tensor<2048x2049xbf16>
  return %y : tensor<2048x2049xbf16>
}

// -----

// CHECK-LABEL: func @small
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @small(%x: tensor<512x256xbf16>, %g: tensor<256x512xbf16>, %u: tensor<256x512xbf16>) -> tensor<512x512xbf16> {
  %a = graph.contract %x, %g batch [] x [] contract [1] x [0] : tensor<512x256xbf16>, tensor<256x512xbf16> -> tensor<512x512xbf16>
  %b = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<512x256xbf16>, tensor<256x512xbf16> -> tensor<512x512xbf16>
  %y = graph.mul %a, %b : tensor<512x512xbf16>
  return %y : tensor<512x512xbf16>
}

// -----

// The result is stored along the rows of the operand that both read.
// CHECK-LABEL: func @along_rows
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @along_rows(%x: tensor<2048x256xbf16>, %g: tensor<256x2048xbf16>, %u: tensor<256x2048xbf16>) -> tensor<2048x2048xbf16> {
  %a = graph.contract %g, %x batch [] x [] contract [0] x [1] : tensor<256x2048xbf16>, tensor<2048x256xbf16> -> tensor<2048x2048xbf16>
  %b = graph.contract %u, %x batch [] x [] contract [0] x [1] : tensor<256x2048xbf16>, tensor<2048x256xbf16> -> tensor<2048x2048xbf16>
  %y = graph.mul %a, %b : tensor<2048x2048xbf16>
  return %y : tensor<2048x2048xbf16>
}
