// Where each element has a list of its own, a thread takes one at a time: it has
// one list, and the text meets no two for every register.
// RUN: fusec compile %s --emit=cuda --arch=sm_90a --quiet | FileCheck %s
// RUN: fusec run %s --target=emulator --against=reference --seed=1

// CHECK: FUSEC_NO_UNROLL
// CHECK-NEXT: for (
// CHECK: f64 [[A:a[0-9]+]][1];
// CHECK: ldm<1>([[A]], 0, p0,
// CHECK-NOT: , p0,
// CHECK: FUSEC_EXPORT
func.func @main(%x: tensor<3x1025xf64>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) {
  %i:6 = graph.top_k max %x dimension = 1 : tensor<3x1025xf64> -> tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
  return %i#0, %i#1, %i#2, %i#3, %i#4, %i#5 : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
}
