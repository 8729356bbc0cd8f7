// The gradient of cross entropy over rows that clusters keep: whole chunks
// have no masks, powers that a sum of at least 1 or bf16 rounds away are the
// short ones, and 64-bit classes are compared in 32 bits with one literal a
// register.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: fusec compile %s --emit=cuda --quiet --exact | FileCheck %s --check-prefix=EXACT

// CHECK: FUSEC_KERNEL_CLUSTER({{.*}}, 4)(
// CHECK: for (i32 [[I:r[0-9]+]] = 0; [[I]] < 98304; [[I]] += 32768) {
// CHECK-COUNT-7: cp_async16({{.*}}, true);
// CHECK: cp_async16({{.*}}, v{{[0-9]+}});
// CHECK-NOT: cp_async16
// CHECK-NOT: ld<8>
// CHECK: m_exp_part(
// CHECK: m_exp_part(
// CHECK: == (u32)r{{[0-9]+}}) & ((i64)(i32){{v[0-9]+}} ==
// CHECK: ? [[E:v[0-9]+]] - (f32)1 : [[E]];
// CHECK-NOT: m_exp(
// CHECK-NOT: FUSEC_KERNEL

// EXACT: FUSEC_KERNEL
// EXACT-NOT: m_exp_part
// EXACT: m_exp(
func.func @main(%arg0: tensor<64x128256xbf16> {graph.name = "x"}, %arg1: tensor<64xi64> {graph.name = "target"}) -> (tensor<64xf32> {graph.name = "loss"}, tensor<64x128256xbf16> {graph.name = "dx"}) {
  %0 = graph.cast %arg0 : tensor<64x128256xbf16> -> tensor<64x128256xf32>
  %1 = graph.reduce  max %0 [1] : tensor<64x128256xf32> -> tensor<64xf32>
  %2 = graph.reshape %1 : tensor<64xf32> -> tensor<64x1xf32>
  %3 = graph.broadcast %2 [0, 1] : tensor<64x1xf32> -> tensor<64x128256xf32>
  %4 = graph.sub %0, %3 : tensor<64x128256xf32>
  %5 = graph.exp %4 : tensor<64x128256xf32>
  %6 = graph.reduce  sum %5 [1] : tensor<64x128256xf32> -> tensor<64xf32>
  %7 = graph.reshape %6 : tensor<64xf32> -> tensor<64x1xf32>
  %8 = graph.log %7 : tensor<64x1xf32>
  %9 = graph.add %8, %2 : tensor<64x1xf32>
  %10 = graph.reshape %arg1 : tensor<64xi64> -> tensor<64x1xi64>
  %11 = graph.gather_elements %0, %10 axis = 1 : tensor<64x128256xf32>, tensor<64x1xi64> -> tensor<64x1xf32>
  %12 = graph.sub %9, %11 : tensor<64x1xf32>
  %13 = graph.reshape %12 : tensor<64x1xf32> -> tensor<64xf32>
  %14 = graph.iota 1 : tensor<64x128256xi64>
  %15 = graph.broadcast %10 [0, 1] : tensor<64x1xi64> -> tensor<64x128256xi64>
  %16 = graph.compare  eq %14, %15 : tensor<64x128256xi64>
  %17 = graph.broadcast %9 [0, 1] : tensor<64x1xf32> -> tensor<64x128256xf32>
  %18 = graph.sub %0, %17 : tensor<64x128256xf32>
  %19 = graph.exp %18 : tensor<64x128256xf32>
  %20 = graph.cast %16 : tensor<64x128256xi1> -> tensor<64x128256xf32>
  %21 = graph.sub %19, %20 : tensor<64x128256xf32>
  %22 = graph.constant dense<1.22070313E-4> : tensor<f32>
  %23 = graph.broadcast %22 [] : tensor<f32> -> tensor<64x128256xf32>
  %24 = graph.mul %21, %23 : tensor<64x128256xf32>
  %25 = graph.cast %24 : tensor<64x128256xf32> -> tensor<64x128256xbf16>
  return %13, %25 : tensor<64xf32>, tensor<64x128256xbf16>
}
