// Inference batch normalisation and dropout of one input: one kernel reads it
// once and stores two outputs.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: func @f(%[[X:.*]]: tensor<8x64x32x32xf32>,
// CHECK: graph.fusion(%{{.*}} = %[[X]],
// CHECK-SAME: -> (tensor<8x64x32x32xf32>, tensor<8x64x32x32xf32>)
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=CUDA
// CUDA-COUNT-1: ldm<4>(
// CUDA-NOT: ldm<4>(
// CUDA-COUNT-2: stm<4>(
// CUDA-NOT: stm<
func.func @f(%x: tensor<8x64x32x32xf32>, %scale: tensor<64xf32>, %bias: tensor<64xf32>, %mean: tensor<64xf32>, %variance: tensor<64xf32>, %seed: tensor<ui64>, %offset: tensor<ui64>)
    -> (tensor<8x64x32x32xf32>, tensor<8x64x32x32xf32>) {
  %y = graph.batch_norm %x, %scale, %bias, %mean, %variance channel = 1 epsilon = 1.0e-5 : tensor<8x64x32x32xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  %bits = graph.philox %seed, %offset : tensor<ui64> -> tensor<8x64x32x32xui32>
  %half = graph.constant dense<2147483648> : tensor<8x64x32x32xui32>
  %keep = graph.compare lt %bits, %half : tensor<8x64x32x32xui32>
  %two = graph.constant dense<2.0> : tensor<8x64x32x32xf32>
  %zero = graph.constant dense<0.0> : tensor<8x64x32x32xf32>
  %scaled = graph.mul %x, %two : tensor<8x64x32x32xf32>
  %d = graph.select %keep, %scaled, %zero : tensor<8x64x32x32xi1>, tensor<8x64x32x32xf32>
  return %y, %d : tensor<8x64x32x32xf32>, tensor<8x64x32x32xf32>
}
