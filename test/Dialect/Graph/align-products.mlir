// RUN: fusec-opt %s --fusec-graph-align-products | FileCheck %s

// Both along k: both get zeros behind it.
// CHECK-LABEL: func @along_k
// CHECK: %[[A:.*]] = graph.pad %arg0, %{{.*}} low [0, 0] high [0, 5] : tensor<2048x1027xbf16>, tensor<bf16> -> tensor<2048x1032xbf16>
// CHECK: %[[B:.*]] = graph.pad %arg1, %{{.*}} low [0, 0] high [0, 5]
// CHECK: graph.contract %[[A]], %[[B]] batch [] x [] contract [1] x [1] : tensor<2048x1032xbf16>, tensor<2048x1032xbf16> -> tensor<2048x2048xbf16>
func.func @along_k(%a: tensor<2048x1027xbf16>, %b: tensor<2048x1027xbf16>) -> tensor<2048x2048xbf16> {
  %r = graph.contract %a, %b batch [] x [] contract [1] x [1] : tensor<2048x1027xbf16>, tensor<2048x1027xbf16> -> tensor<2048x2048xbf16>
  return %r : tensor<2048x2048xbf16>
}

// What is aligned along n stays as it is but for the zeros; what is not is
// turned.
// CHECK-LABEL: func @along_n
// CHECK: %[[B:.*]] = graph.pad %arg1, %{{.*}} low [0, 0, 0] high [0, 1, 0] : tensor<3x1023x1024xf16>, tensor<f16> -> tensor<3x1024x1024xf16>
// CHECK: graph.contract %{{.*}}, %[[B]] batch [0] x [0] contract [2] x [1]
// CHECK: %[[T:.*]] = graph.transpose %arg2 [1, 0] : tensor<1024x1023xf16> -> tensor<1023x1024xf16>
// CHECK: graph.contract %arg3, %[[T]] batch [] x [] contract [1] x [1]
func.func @along_n(%a: tensor<3x1024x1023xf16>, %b: tensor<3x1023x1024xf16>, %c: tensor<1024x1023xf16>, %d: tensor<2048x1024xf16>)
    -> (tensor<3x1024x1024xf16>, tensor<2048x1023xf16>) {
  %r = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<3x1024x1023xf16>, tensor<3x1023x1024xf16> -> tensor<3x1024x1024xf16>
  %s = graph.contract %d, %c batch [] x [] contract [1] x [0] : tensor<2048x1024xf16>, tensor<1024x1023xf16> -> tensor<2048x1023xf16>
  return %r, %s : tensor<3x1024x1024xf16>, tensor<2048x1023xf16>
}

// 8 bits, with what the product has.
// CHECK-LABEL: func @bytes
// CHECK: graph.pad %arg0, %{{.*}} high [0, 13]
// CHECK: graph.contract {{.*}} {graph.fast_accumulation} : tensor<1024x1040xf8E4M3FN>, tensor<1024x1040xf8E5M2> -> tensor<1024x1024xf32>
func.func @bytes(%a: tensor<1024x1027xf8E4M3FN>, %b: tensor<1024x1027xf8E5M2>) -> tensor<1024x1024xf32> {
  %r = graph.contract %a, %b batch [] x [] contract [1] x [1] {graph.fast_accumulation} : tensor<1024x1027xf8E4M3FN>, tensor<1024x1027xf8E5M2> -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// Aligned, small, of few rows, of plain f32, of two types.
// CHECK-LABEL: func @others
// CHECK-NOT: graph.pad
// CHECK-NOT: graph.transpose
func.func @others(%a: tensor<2048x1024xf16>, %b: tensor<1024x1024xf16>, %c: tensor<64x65xf16>, %d: tensor<8x65535xf16>, %e: tensor<8192x65535xf16>,
                  %f: tensor<2048x1025xf32>, %g: tensor<2048x1025xf16>)
    -> (tensor<2048x1024xf16>, tensor<64x64xf16>, tensor<8x8192xf16>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<2048x1024xf16>, tensor<1024x1024xf16> -> tensor<2048x1024xf16>
  %1 = graph.contract %c, %c batch [] x [] contract [1] x [1] : tensor<64x65xf16>, tensor<64x65xf16> -> tensor<64x64xf16>
  %2 = graph.contract %d, %e batch [] x [] contract [1] x [1] : tensor<8x65535xf16>, tensor<8192x65535xf16> -> tensor<8x8192xf16>
  %3 = graph.contract %f, %f batch [] x [] contract [1] x [1] : tensor<2048x1025xf32>, tensor<2048x1025xf32> -> tensor<2048x2048xf32>
  %4 = graph.contract %f, %g batch [] x [] contract [1] x [1] : tensor<2048x1025xf32>, tensor<2048x1025xf16> -> tensor<2048x2048xf32>
  return %0, %1, %2, %3, %4 : tensor<2048x1024xf16>, tensor<64x64xf16>, tensor<8x8192xf16>, tensor<2048x2048xf32>, tensor<2048x2048xf32>
}
