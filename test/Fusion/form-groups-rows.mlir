// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// WHY: row kernel of 7 ops, 1 inputs, 1 outputs
// CHECK-LABEL: func @softmax
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @softmax(%x: tensor<128x1000xf32>) -> tensor<128x1000xf32> {
  %m = graph.reduce max %x [1] : tensor<128x1000xf32> -> tensor<128xf32>
  %mb = graph.broadcast %m [0] : tensor<128xf32> -> tensor<128x1000xf32>
  %d = graph.sub %x, %mb : tensor<128x1000xf32>
  %e = graph.exp %d : tensor<128x1000xf32>
  %s = graph.reduce sum %e [1] : tensor<128x1000xf32> -> tensor<128xf32>
  %sb = graph.broadcast %s [0] : tensor<128xf32> -> tensor<128x1000xf32>
  %r = graph.div %e, %sb : tensor<128x1000xf32>
  return %r : tensor<128x1000xf32>
}

// -----

// Softmax over a middle axis, spelt with kept dimensions and scaled.
// WHY: row kernel of 10 ops, 1 inputs, 1 outputs
// CHECK-LABEL: func @middle_softmax
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @middle_softmax(%x: tensor<8x300x64xf32>) -> tensor<8x300x64xf32> {
  %c = graph.constant dense<0.125> : tensor<8x300x64xf32>
  %y = graph.mul %x, %c : tensor<8x300x64xf32>
  %m = graph.reduce max %y [1] : tensor<8x300x64xf32> -> tensor<8x64xf32>
  %mk = graph.reshape %m : tensor<8x64xf32> -> tensor<8x1x64xf32>
  %mb = graph.broadcast %mk [0, 1, 2] : tensor<8x1x64xf32> -> tensor<8x300x64xf32>
  %d = graph.sub %y, %mb : tensor<8x300x64xf32>
  %e = graph.exp %d : tensor<8x300x64xf32>
  %s = graph.reduce sum %e [1] : tensor<8x300x64xf32> -> tensor<8x64xf32>
  %sb = graph.broadcast %s [0, 2] : tensor<8x64xf32> -> tensor<8x300x64xf32>
  %r = graph.div %e, %sb : tensor<8x300x64xf32>
  return %r : tensor<8x300x64xf32>
}

// -----

// Layer norm in half precision with statistics in f32.
// WHY: row kernel of {{[0-9]+}} ops, 3 inputs, 1 outputs
// CHECK-LABEL: func @layer_norm
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @layer_norm(%x: tensor<4x128x768xf16>, %g: tensor<768xf16>, %b: tensor<768xf16>) -> tensor<4x128x768xf16> {
  %n = graph.constant dense<768.0> : tensor<4x128xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<4x128xf32>
  %w = graph.cast %x : tensor<4x128x768xf16> -> tensor<4x128x768xf32>
  %s = graph.reduce sum %w [2] : tensor<4x128x768xf32> -> tensor<4x128xf32>
  %mean = graph.div %s, %n : tensor<4x128xf32>
  %mb = graph.broadcast %mean [0, 1] : tensor<4x128xf32> -> tensor<4x128x768xf32>
  %c = graph.sub %w, %mb : tensor<4x128x768xf32>
  %q = graph.mul %c, %c : tensor<4x128x768xf32>
  %v = graph.reduce sum %q [2] : tensor<4x128x768xf32> -> tensor<4x128xf32>
  %var = graph.div %v, %n : tensor<4x128xf32>
  %ve = graph.add %var, %eps : tensor<4x128xf32>
  %r = graph.rsqrt %ve : tensor<4x128xf32>
  %rb = graph.broadcast %r [0, 1] : tensor<4x128xf32> -> tensor<4x128x768xf32>
  %y = graph.mul %c, %rb : tensor<4x128x768xf32>
  %gf = graph.cast %g : tensor<768xf16> -> tensor<768xf32>
  %gb = graph.broadcast %gf [2] : tensor<768xf32> -> tensor<4x128x768xf32>
  %bf = graph.cast %b : tensor<768xf16> -> tensor<768xf32>
  %bb = graph.broadcast %bf [2] : tensor<768xf32> -> tensor<4x128x768xf32>
  %yg = graph.mul %y, %gb : tensor<4x128x768xf32>
  %yb = graph.add %yg, %bb : tensor<4x128x768xf32>
  %o = graph.cast %yb : tensor<4x128x768xf32> -> tensor<4x128x768xf16>
  return %o : tensor<4x128x768xf16>
}

// -----

// Group norm: the row is a reshape of channels and pixels.
// WHY: row kernel of {{[0-9]+}} ops, 2 inputs, 1 outputs
// CHECK-LABEL: func @group_norm
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @group_norm(%x: tensor<4x32x16x16xf32>, %g: tensor<32xf32>) -> tensor<4x32x16x16xf32> {
  %n = graph.constant dense<1024.0> : tensor<4x8xf32>
  %r0 = graph.reshape %x : tensor<4x32x16x16xf32> -> tensor<4x8x1024xf32>
  %s = graph.reduce sum %r0 [2] : tensor<4x8x1024xf32> -> tensor<4x8xf32>
  %mean = graph.div %s, %n : tensor<4x8xf32>
  %mb = graph.broadcast %mean [0, 1] : tensor<4x8xf32> -> tensor<4x8x1024xf32>
  %c = graph.sub %r0, %mb : tensor<4x8x1024xf32>
  %q = graph.mul %c, %c : tensor<4x8x1024xf32>
  %v = graph.reduce sum %q [2] : tensor<4x8x1024xf32> -> tensor<4x8xf32>
  %r = graph.rsqrt %v : tensor<4x8xf32>
  %rb = graph.broadcast %r [0, 1] : tensor<4x8xf32> -> tensor<4x8x1024xf32>
  %y = graph.mul %c, %rb : tensor<4x8x1024xf32>
  %y4 = graph.reshape %y : tensor<4x8x1024xf32> -> tensor<4x32x16x16xf32>
  %gb = graph.broadcast %g [1] : tensor<32xf32> -> tensor<4x32x16x16xf32>
  %o = graph.mul %y4, %gb : tensor<4x32x16x16xf32>
  return %o : tensor<4x32x16x16xf32>
}

// -----

// The result of the softmax leaves transposed, together with the row maxima.
// WHY: row kernel of 8 ops, 1 inputs, 2 outputs
// CHECK-LABEL: func @transposed_outputs
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @transposed_outputs(%x: tensor<128x1000xf32>) -> (tensor<1000x128xf32>, tensor<128xf32>) {
  %m = graph.reduce max %x [1] : tensor<128x1000xf32> -> tensor<128xf32>
  %mb = graph.broadcast %m [0] : tensor<128xf32> -> tensor<128x1000xf32>
  %d = graph.sub %x, %mb : tensor<128x1000xf32>
  %e = graph.exp %d : tensor<128x1000xf32>
  %s = graph.reduce sum %e [1] : tensor<128x1000xf32> -> tensor<128xf32>
  %sb = graph.broadcast %s [0] : tensor<128xf32> -> tensor<128x1000xf32>
  %r = graph.div %e, %sb : tensor<128x1000xf32>
  %t = graph.transpose %r [1, 0] : tensor<128x1000xf32> -> tensor<1000x128xf32>
  return %t, %m : tensor<1000x128xf32>, tensor<128xf32>
}

// -----

// Rows of a transposed input: index arithmetic only.
// WHY: row kernel of 2 ops, 1 inputs, 1 outputs
// CHECK-LABEL: func @transposed_input
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @transposed_input(%x: tensor<1000x128xf32>) -> tensor<128xf32> {
  %t = graph.transpose %x [1, 0] : tensor<1000x128xf32> -> tensor<128x1000xf32>
  %m = graph.reduce max %t [1] : tensor<128x1000xf32> -> tensor<128xf32>
  return %m : tensor<128xf32>
}

// -----

// RMS norm and then rotating halves of each row: the norm is evaluated at two
// indices, its sum of squares once a row.
// WHY: row kernel of {{[0-9]+}} ops, 3 inputs, 1 outputs
// CHECK-LABEL: func @norm_rotate
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @norm_rotate(%x: tensor<256x64xf32>, %cos: tensor<256x64xf32>, %sin: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %q = graph.mul %x, %x : tensor<256x64xf32>
  %s = graph.reduce sum %q [1] : tensor<256x64xf32> -> tensor<256xf32>
  %r = graph.rsqrt %s : tensor<256xf32>
  %rb = graph.broadcast %r [0] : tensor<256xf32> -> tensor<256x64xf32>
  %y = graph.mul %x, %rb : tensor<256x64xf32>
  %a = graph.slice %y offsets [0, 0] strides [1, 1] : tensor<256x64xf32> -> tensor<256x32xf32>
  %b = graph.slice %y offsets [0, 32] strides [1, 1] : tensor<256x64xf32> -> tensor<256x32xf32>
  %nb = graph.neg %b : tensor<256x32xf32>
  %rot = graph.concat %nb, %a axis = 1 : tensor<256x32xf32>, tensor<256x32xf32> -> tensor<256x64xf32>
  %yc = graph.mul %y, %cos : tensor<256x64xf32>
  %rs = graph.mul %rot, %sin : tensor<256x64xf32>
  %o = graph.add %yc, %rs : tensor<256x64xf32>
  return %o : tensor<256x64xf32>
}

// -----

// Several values of a row side by side are an output of the row's kernel: each
// operand of the concatenation is one value a row.
// CHECK-LABEL: func @values_side_by_side
// CHECK-COUNT-1: graph.fusion
// CHECK: graph.concat
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @values_side_by_side(%x: tensor<4096x4096xf32>) -> tensor<4096x2xf32> {
  %a = graph.reduce max %x [1] : tensor<4096x4096xf32> -> tensor<4096xf32>
  %b = graph.reduce min %x [1] : tensor<4096x4096xf32> -> tensor<4096xf32>
  %c = graph.reshape %a : tensor<4096xf32> -> tensor<4096x1xf32>
  %d = graph.reshape %b : tensor<4096xf32> -> tensor<4096x1xf32>
  %e = graph.concat %c, %d axis = 1 : tensor<4096x1xf32>, tensor<4096x1xf32> -> tensor<4096x2xf32>
  return %e : tensor<4096x2xf32>
}
