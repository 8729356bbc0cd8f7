// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A perceptron with GELU: two kernels, and the GELU is computed once, behind
// the first product.
// WHY: contraction kernel of {{[0-9]+}} ops, 3 inputs, 1 outputs
// CHECK-LABEL: func @mlp
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.erf
// CHECK: graph.fusion
// CHECK-NOT: graph.erf
// CHECK:   graph.contract
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @mlp(%x: tensor<512x768xf16>, %w: tensor<768x3072xf16>, %b: tensor<3072xf16>, %v: tensor<3072x768xf16>, %c: tensor<768xf16>) -> tensor<512x768xf16> {
  %half = graph.constant dense<0.5> : tensor<512x3072xf16>
  %one = graph.constant dense<1.0> : tensor<512x3072xf16>
  %r = graph.constant dense<0.707> : tensor<512x3072xf16>
  %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<512x768xf16>, tensor<768x3072xf16> -> tensor<512x3072xf16>
  %bb = graph.broadcast %b [1] : tensor<3072xf16> -> tensor<512x3072xf16>
  %s = graph.add %p, %bb : tensor<512x3072xf16>
  %e0 = graph.mul %s, %r : tensor<512x3072xf16>
  %e1 = graph.erf %e0 : tensor<512x3072xf16>
  %e2 = graph.add %e1, %one : tensor<512x3072xf16>
  %e3 = graph.mul %s, %half : tensor<512x3072xf16>
  %g = graph.mul %e3, %e2 : tensor<512x3072xf16>
  %q = graph.contract %g, %v batch [] x [] contract [1] x [0] : tensor<512x3072xf16>, tensor<3072x768xf16> -> tensor<512x768xf16>
  %cb = graph.broadcast %c [1] : tensor<768xf16> -> tensor<512x768xf16>
  %o = graph.add %q, %cb : tensor<512x768xf16>
  return %o : tensor<512x768xf16>
}

// -----

// Attention's first product, its scale and mask in the epilogue, the softmax as
// a row kernel, the second product with the heads put back in its epilogue.
// WHY: contraction kernel of {{[0-9]+}} ops, 3 inputs, 1 outputs
// WHY: row kernel of 7 ops, 1 inputs, 1 outputs
// WHY: contraction kernel of 3 ops, 2 inputs, 1 outputs
// CHECK-LABEL: func @attention
// CHECK-COUNT-3: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @attention(%q: tensor<8x12x128x64xf16>, %k: tensor<8x12x128x64xf16>, %v: tensor<8x12x128x64xf16>, %mask: tensor<8x128xf16>) -> tensor<8x128x768xf16> {
  %scale = graph.constant dense<0.125> : tensor<8x12x128x128xf16>
  %s = graph.contract %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : tensor<8x12x128x64xf16>, tensor<8x12x128x64xf16> -> tensor<8x12x128x128xf16>
  %t = graph.mul %s, %scale : tensor<8x12x128x128xf16>
  %mb = graph.broadcast %mask [0, 3] : tensor<8x128xf16> -> tensor<8x12x128x128xf16>
  %u = graph.add %t, %mb : tensor<8x12x128x128xf16>
  %m = graph.reduce max %u [3] : tensor<8x12x128x128xf16> -> tensor<8x12x128xf16>
  %mm = graph.broadcast %m [0, 1, 2] : tensor<8x12x128xf16> -> tensor<8x12x128x128xf16>
  %d = graph.sub %u, %mm : tensor<8x12x128x128xf16>
  %e = graph.exp %d : tensor<8x12x128x128xf16>
  %z = graph.reduce sum %e [3] : tensor<8x12x128x128xf16> -> tensor<8x12x128xf16>
  %zb = graph.broadcast %z [0, 1, 2] : tensor<8x12x128xf16> -> tensor<8x12x128x128xf16>
  %p = graph.div %e, %zb : tensor<8x12x128x128xf16>
  %o = graph.contract %p, %v batch [0, 1] x [0, 1] contract [3] x [2] : tensor<8x12x128x128xf16>, tensor<8x12x128x64xf16> -> tensor<8x12x128x64xf16>
  %h = graph.transpose %o [0, 2, 1, 3] : tensor<8x12x128x64xf16> -> tensor<8x128x12x64xf16>
  %r = graph.reshape %h : tensor<8x128x12x64xf16> -> tensor<8x128x768xf16>
  return %r : tensor<8x128x768xf16>
}

// -----

// A dequantised weight is a prologue; the residual is read in the epilogue.
// WHY: contraction kernel of 4 ops, 3 inputs, 1 outputs
// CHECK-LABEL: func @prologue
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @prologue(%x: tensor<128x256xf16>, %w: tensor<512x256xi8>, %res: tensor<128x512xf16>) -> tensor<128x512xf16> {
  %f = graph.cast %w : tensor<512x256xi8> -> tensor<512x256xf16>
  %t = graph.transpose %f [1, 0] : tensor<512x256xf16> -> tensor<256x512xf16>
  %p = graph.contract %x, %t batch [] x [] contract [1] x [0] : tensor<128x256xf16>, tensor<256x512xf16> -> tensor<128x512xf16>
  %o = graph.add %p, %res : tensor<128x512xf16>
  return %o : tensor<128x512xf16>
}
