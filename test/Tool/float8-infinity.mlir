// Sums that are infinite stay so in f8e5m2: only casts saturate.
// RUN: fusec run %s --target=reference | FileCheck %s
// RUN: fusec run %s --target=host | FileCheck %s
// RUN: fusec run %s --target=emulator | FileCheck %s
// CHECK: output 'output0': f8e5m2 2
// CHECK-NEXT: inf inf
// CHECK: output 'output1': f8e5m2 2
// CHECK-NEXT: inf inf
// CHECK: output 'output2': f8e5m2 2
// CHECK-NEXT: 57344 57344
func.func @main(%x: tensor<2xf64>) -> (tensor<2xf8E5M2>, tensor<2xf8E5M2>, tensor<2xf8E5M2>) {
  %zero = graph.constant dense<0.0> : tensor<2xf64>
  %one = graph.constant dense<1.0> : tensor<2xf64>
  %k = graph.constant dense<1.0> : tensor<1xf64>
  %0 = graph.mul %x, %zero : tensor<2xf64>
  %1 = graph.abs %0 : tensor<2xf64>
  %2 = graph.div %one, %1 : tensor<2xf64>
  %3 = graph.reshape %2 : tensor<2xf64> -> tensor<2x1xf64>
  %4 = graph.contract %3, %k batch [] x [] contract [1] x [0] : tensor<2x1xf64>, tensor<1xf64> -> tensor<2xf8E5M2>
  %5 = graph.cast %2 {saturate = false} : tensor<2xf64> -> tensor<2xf8E5M2>
  %6 = graph.cumulative sum %5 dimension = 0 : tensor<2xf8E5M2>
  %7 = graph.cast %2 : tensor<2xf64> -> tensor<2xf8E5M2>
  return %4, %6, %7 : tensor<2xf8E5M2>, tensor<2xf8E5M2>, tensor<2xf8E5M2>
}
