// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups=verify-groups | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups --fusec-fusion-form-groups=verify-groups | FileCheck %s

// A convolution, its bias and its relu are one kernel.
// CHECK-LABEL: func @conv_bias_relu
// CHECK: graph.fusion
// CHECK:   graph.convolution
// CHECK:   graph.add
// CHECK:   graph.max
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @conv_bias_relu(%x: tensor<8x64x56x56xf16>, %w: tensor<64x64x3x3xf16>, %b: tensor<64xf16>) -> tensor<8x64x56x56xf16> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<8x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<8x64x56x56xf16>
  %bb = graph.broadcast %b [1] : tensor<64xf16> -> tensor<8x64x56x56xf16>
  %s = graph.add %y, %bb : tensor<8x64x56x56xf16>
  %zero = graph.constant dense<0.0> : tensor<8x64x56x56xf16>
  %r = graph.max %s, %zero : tensor<8x64x56x56xf16>
  return %r : tensor<8x64x56x56xf16>
}

// -----

// The L2 norm of rows: the squares never reach memory.
// CHECK-LABEL: func @l2_norm
// CHECK: graph.fusion{{.*}} -> tensor<512xf32> {
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @l2_norm(%x: tensor<512x4096xf32>) -> tensor<512xf32> {
  %q = graph.mul %x, %x : tensor<512x4096xf32>
  %s = graph.reduce sum %q [1] : tensor<512x4096xf32> -> tensor<512xf32>
  %r = graph.sqrt %s : tensor<512xf32>
  return %r : tensor<512xf32>
}

// -----

// Inference batch normalisation and dropout of one input: it is read once and
// there are two outputs.
// CHECK-LABEL: func @norm_and_dropout
// CHECK-SAME: %[[X:.*]]: tensor<8x64x32x32xf32>,
// CHECK: graph.fusion(%{{.*}} = %[[X]],
// CHECK-SAME: -> (tensor<8x64x32x32xf32>, tensor<8x64x32x32xf32>)
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @norm_and_dropout(%x: tensor<8x64x32x32xf32>, %scale: tensor<64xf32>, %bias: tensor<64xf32>, %seed: tensor<ui64>, %offset: tensor<ui64>)
    -> (tensor<8x64x32x32xf32>, tensor<8x64x32x32xf32>) {
  %s = graph.broadcast %scale [1] : tensor<64xf32> -> tensor<8x64x32x32xf32>
  %b = graph.broadcast %bias [1] : tensor<64xf32> -> tensor<8x64x32x32xf32>
  %m = graph.mul %x, %s : tensor<8x64x32x32xf32>
  %y = graph.add %m, %b : tensor<8x64x32x32xf32>
  %bits = graph.philox %seed, %offset : tensor<ui64> -> tensor<8x64x32x32xui32>
  %half = graph.constant dense<2147483648> : tensor<8x64x32x32xui32>
  %keep = graph.compare lt %bits, %half : tensor<8x64x32x32xui32>
  %two = graph.constant dense<2.0> : tensor<8x64x32x32xf32>
  %zero = graph.constant dense<0.0> : tensor<8x64x32x32xf32>
  %scaled = graph.mul %x, %two : tensor<8x64x32x32xf32>
  %d = graph.select %keep, %scaled, %zero : tensor<8x64x32x32xi1>, tensor<8x64x32x32xf32>
  return %y, %d : tensor<8x64x32x32xf32>, tensor<8x64x32x32xf32>
}

// -----

// Two convolutions with few channels: one kernel, the second one reads a tile
// with halo of the first.
// CHECK-LABEL: func @conv_conv
// CHECK: graph.fusion
// CHECK: graph.convolution
// CHECK: graph.convolution
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @conv_conv(%x: tensor<1x3x256x256xf32>, %w: tensor<4x3x3x3xf32>, %v: tensor<4x4x3x3xf32>) -> tensor<1x4x256x256xf32> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<1x3x256x256xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x256x256xf32>
  %z = graph.convolution %y, %v strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<1x4x256x256xf32>, tensor<4x4x3x3xf32> -> tensor<1x4x256x256xf32>
  return %z : tensor<1x4x256x256xf32>
}

// -----

// Three stencils in a row with element-wise ops between.
// CHECK-LABEL: func @three_stencils
// CHECK: graph.fusion
// CHECK-COUNT-3: graph.window_reduce
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @three_stencils(%x: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %c = graph.constant dense<0.111111111> : tensor<2048x2048xf32>
  %a = graph.window_reduce sum %x window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  %a1 = graph.mul %a, %c : tensor<2048x2048xf32>
  %b = graph.window_reduce sum %a1 window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  %b1 = graph.mul %b, %c : tensor<2048x2048xf32>
  %d = graph.window_reduce max %b1 window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  return %d : tensor<2048x2048xf32>
}

// -----

// (a + b) * c + (a + b) * d: one kernel, one addition of a and b.
// CHECK-LABEL: func @shared_sum
// CHECK: graph.fusion
// CHECK: graph.add
// CHECK: graph.mul
// CHECK: graph.mul
// CHECK: graph.add
// CHECK-NOT: graph.add
// CHECK: return
func.func @shared_sum(%a: tensor<1024xf32>, %b: tensor<1024xf32>, %c: tensor<1024xf32>, %d: tensor<1024xf32>) -> tensor<1024xf32> {
  %s = graph.add %a, %b : tensor<1024xf32>
  %p = graph.mul %s, %c : tensor<1024xf32>
  %q = graph.mul %s, %d : tensor<1024xf32>
  %r = graph.add %p, %q : tensor<1024xf32>
  return %r : tensor<1024xf32>
}

// -----

// An inline conditional: clamp by a threshold.
// CHECK-LABEL: func @threshold
// CHECK: graph.fusion
// CHECK: graph.constant
// CHECK: graph.compare
// CHECK: graph.select
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @threshold(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %t = graph.constant dense<0.5> : tensor<1000xf32>
  %c = graph.compare gt %x, %t : tensor<1000xf32>
  %r = graph.select %c, %x, %y : tensor<1000xi1>, tensor<1000xf32>
  return %r : tensor<1000xf32>
}

// -----

// An element-wise loop, its use as an output, and a reduction of it.
// CHECK-LABEL: func @map_and_reduce
// CHECK: graph.fusion{{.*}} -> (tensor<64x1000xf32>, tensor<64xf32>)
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @map_and_reduce(%x: tensor<64x1000xf32>) -> (tensor<64x1000xf32>, tensor<64xf32>) {
  %e = graph.exp %x : tensor<64x1000xf32>
  %s = graph.reduce sum %e [1] : tensor<64x1000xf32> -> tensor<64xf32>
  return %e, %s : tensor<64x1000xf32>, tensor<64xf32>
}

// -----

// Sums along rows and then along columns need two kernels. Both compute the
// exponential; storing it would move more bytes.
// CHECK-LABEL: func @needs_fission
// CHECK: graph.fusion{{.*}} : (tensor<512x512xf32>) -> tensor<512xf32> {
// CHECK:   graph.exp
// CHECK:   graph.reduce  sum {{.*}} [1]
// CHECK: graph.fusion
// CHECK:   graph.exp
// CHECK:   graph.reduce  sum {{.*}} [0]
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @needs_fission(%x: tensor<512x512xf32>) -> tensor<512xf32> {
  %e = graph.exp %x : tensor<512x512xf32>
  %s = graph.reduce sum %e [1] : tensor<512x512xf32> -> tensor<512xf32>
  %b = graph.broadcast %s [0] : tensor<512xf32> -> tensor<512x512xf32>
  %d = graph.div %e, %b : tensor<512x512xf32>
  %t = graph.reduce sum %d [0] : tensor<512x512xf32> -> tensor<512xf32>
  return %t : tensor<512xf32>
}
