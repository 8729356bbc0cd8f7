// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups horizontal" | FileCheck %s

// A small stream is made beside rows that fill the machine: a few more blocks
// of their launch.
// CHECK-LABEL: func @beside
// CHECK-COUNT-3: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @beside(%x: tensor<16384x768xf16>, %k: tensor<5000xi64>) -> (tensor<16384x768xf16>, tensor<5000xf16>) {
  %mr = graph.reduce max %x [1] : tensor<16384x768xf16> -> tensor<16384xf16>
  %wr = graph.broadcast %mr [0] : tensor<16384xf16> -> tensor<16384x768xf16>
  %r = graph.sub %x, %wr : tensor<16384x768xf16>
  %1 = graph.cast %k : tensor<5000xi64> -> tensor<5000xf16>
  %2 = graph.exp %1 : tensor<5000xf16>
  return %r, %2 : tensor<16384x768xf16>, tensor<5000xf16>
}

// -----

// Also where only a kernel behind the next one reads it, at another level than
// that of the rows.
// CHECK-LABEL: func @read_later
// CHECK: %[[BOTH:.*]]:2 = graph.fusion
// CHECK: graph.reduce
// CHECK: graph.exp
// CHECK: %[[FIRST:.*]] = graph.fusion
// CHECK: graph.contract
// CHECK: graph.fusion(
// CHECK-SAME: %[[BOTH]]#
// CHECK: graph.contract
// CHECK-NOT: graph.fusion
func.func @read_later(%x: tensor<16384x768xf16>, %k: tensor<1024x256xi64>, %w: tensor<768x1024xf16>) -> tensor<16384x256xf16> {
  %mr = graph.reduce max %x [1] : tensor<16384x768xf16> -> tensor<16384xf16>
  %wr = graph.broadcast %mr [0] : tensor<16384xf16> -> tensor<16384x768xf16>
  %r = graph.sub %x, %wr : tensor<16384x768xf16>
  %1 = graph.cast %k : tensor<1024x256xi64> -> tensor<1024x256xf16>
  %2 = graph.exp %1 : tensor<1024x256xf16>
  %3 = graph.contract %r, %w batch [] x [] contract [1] x [0] : tensor<16384x768xf16>, tensor<768x1024xf16> -> tensor<16384x1024xf16>
  %4 = graph.contract %3, %2 batch [] x [] contract [1] x [0] : tensor<16384x1024xf16>, tensor<1024x256xf16> -> tensor<16384x256xf16>
  return %4 : tensor<16384x256xf16>
}

// -----

// Not what reads the rows, nor what they read.
// CHECK-LABEL: func @apart
// CHECK: graph.fusion
// CHECK: graph.gather
// CHECK: graph.fusion
// CHECK: graph.reduce
// CHECK: graph.fusion
// CHECK: graph.gather
// CHECK-NOT: graph.fusion
func.func @apart(%x: tensor<16384x768xf16>, %i: tensor<5000xi64>, %j: tensor<16384xi64>, %s: tensor<64x256xf16>) -> (tensor<16384x768xf16>, tensor<5000x16xf16>) {
  %t = graph.reshape %s : tensor<64x256xf16> -> tensor<16384xf16>
  %g = graph.gather %t, %j axis = 0 : tensor<16384xf16>, tensor<16384xi64> -> tensor<16384xf16>
  %e = graph.exp %g : tensor<16384xf16>
  %c = graph.cumulative sum %e dimension = 0 : tensor<16384xf16>
  %b = graph.broadcast %c [0] : tensor<16384xf16> -> tensor<16384x768xf16>
  %y = graph.mul %x, %b : tensor<16384x768xf16>
  %mr = graph.reduce max %y [1] : tensor<16384x768xf16> -> tensor<16384xf16>
  %wr = graph.broadcast %mr [0] : tensor<16384xf16> -> tensor<16384x768xf16>
  %r = graph.sub %y, %wr : tensor<16384x768xf16>
  %1 = graph.slice %r offsets [0, 0] strides [1, 1] : tensor<16384x768xf16> -> tensor<16384x16xf16>
  %2 = graph.gather %1, %i axis = 0 : tensor<16384x16xf16>, tensor<5000xi64> -> tensor<5000x16xf16>
  return %r, %2 : tensor<16384x768xf16>, tensor<5000x16xf16>
}

// -----

// A stream that takes a good part of the rows' time has a launch of its own.
// CHECK-LABEL: func @long
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @long(%x: tensor<16384x768xf16>, %k: tensor<1000000xf32>) -> (tensor<16384x768xf16>, tensor<1000000xf32>) {
  %m = graph.reduce max %x [1] : tensor<16384x768xf16> -> tensor<16384xf16>
  %w = graph.broadcast %m [0] : tensor<16384xf16> -> tensor<16384x768xf16>
  %r = graph.sub %x, %w : tensor<16384x768xf16>
  %e = graph.exp %k : tensor<1000000xf32>
  return %r, %e : tensor<16384x768xf16>, tensor<1000000xf32>
}
