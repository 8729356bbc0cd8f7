// RUN: fusec-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @involutions
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xi1>
func.func @involutions(%x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>) {
  %0 = graph.neg %x : tensor<4xf32>
  %1 = graph.neg %0 : tensor<4xf32>
  %2 = graph.not %b : tensor<4xi1>
  %3 = graph.not %2 : tensor<4xi1>
  // CHECK: return %[[X]], %[[B]]
  return %1, %3 : tensor<4xf32>, tensor<4xi1>
}

// Neutral elements go where they are neutral for every float.
// CHECK-LABEL: func @neutral
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xui8>
func.func @neutral(%x: tensor<4xf32>, %i: tensor<4xui8>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xui8>, tensor<4xui8>) {
  %plus = graph.constant dense<0.0> : tensor<4xf32>
  %minus = graph.constant dense<-0.0> : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32>
  %zeroInt = graph.constant dense<0> : tensor<4xui8>
  %oneInt = graph.constant dense<1> : tensor<4xui8>
  %0 = graph.add %minus, %x : tensor<4xf32>
  %1 = graph.sub %x, %plus : tensor<4xf32>
  %2 = graph.mul %one, %x : tensor<4xf32>
  %3 = graph.div %x, %one : tensor<4xf32>
  %4 = graph.add %i, %zeroInt : tensor<4xui8>
  %5 = graph.mul %i, %oneInt : tensor<4xui8>
  // CHECK: return %[[X]], %[[X]], %[[X]], %[[X]], %[[I]], %[[I]]
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xui8>, tensor<4xui8>
}

// x + 0.0 turns -0.0 into 0.0; x * 0, x - x and x / x are NaN for some x.
// CHECK-LABEL: func @kept
func.func @kept(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %plus = graph.constant dense<0.0> : tensor<4xf32>
  %minus = graph.constant dense<-0.0> : tensor<4xf32>
  // CHECK: graph.add
  // CHECK: graph.sub
  // CHECK: graph.mul
  // CHECK: graph.sub
  // CHECK: graph.div
  %0 = graph.add %x, %plus : tensor<4xf32>
  %1 = graph.sub %x, %minus : tensor<4xf32>
  %2 = graph.mul %x, %plus : tensor<4xf32>
  %3 = graph.sub %x, %x : tensor<4xf32>
  %4 = graph.div %x, %x : tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @idempotent
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>
func.func @idempotent(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) {
  %0 = graph.max %x, %x : tensor<4xf32>
  %1 = graph.min %x, %x : tensor<4xf32>
  %2 = graph.and %i, %i : tensor<4xi32>
  %3 = graph.or %i, %i : tensor<4xi32>
  // CHECK: return %[[X]], %[[X]], %[[I]], %[[I]]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>
}

// CHECK-LABEL: func @absorbing
// CHECK-SAME: %[[B:.*]]: tensor<2xi1>
func.func @absorbing(%b: tensor<2xi1>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  // CHECK-DAG: %[[T:.*]] = graph.constant dense<true>
  // CHECK-DAG: %[[F:.*]] = graph.constant dense<false>
  %true = graph.constant dense<true> : tensor<2xi1>
  %false = graph.constant dense<false> : tensor<2xi1>
  %0 = graph.and %b, %true : tensor<2xi1>
  %1 = graph.and %b, %false : tensor<2xi1>
  %2 = graph.or %b, %true : tensor<2xi1>
  %3 = graph.or %b, %false : tensor<2xi1>
  // CHECK: return %[[B]], %[[F]], %[[T]], %[[B]]
  return %0, %1, %2, %3 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}

// CHECK-LABEL: func @selects
// CHECK-SAME: %[[B:.*]]: tensor<2xi1>, %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>
func.func @selects(%b: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = graph.constant dense<true> : tensor<2xi1>
  %false = graph.constant dense<false> : tensor<2xi1>
  %0 = graph.select %b, %x, %x : tensor<2xi1>, tensor<2xf32>
  %1 = graph.select %true, %x, %y : tensor<2xi1>, tensor<2xf32>
  %2 = graph.select %false, %x, %y : tensor<2xi1>, tensor<2xf32>
  // CHECK: return %[[X]], %[[X]], %[[Y]]
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// A lossless first cast is skipped.
// CHECK-LABEL: func @lossless_casts
// CHECK-SAME: %[[H:.*]]: tensor<2xbf16>, %[[I:.*]]: tensor<2xi8>, %[[B:.*]]: tensor<2xi1>
func.func @lossless_casts(%h: tensor<2xbf16>, %i: tensor<2xi8>, %b: tensor<2xi1>) -> (tensor<2xbf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xi1>) {
  // CHECK-DAG: %[[F:.*]] = graph.cast %[[H]] : tensor<2xbf16> -> tensor<2xf16>
  // CHECK-DAG: %[[G:.*]] = graph.cast %[[I]] : tensor<2xi8> -> tensor<2xf16>
  %0 = graph.cast %h : tensor<2xbf16> -> tensor<2xf32>
  %1 = graph.cast %0 : tensor<2xf32> -> tensor<2xbf16>
  %2 = graph.cast %0 : tensor<2xf32> -> tensor<2xf16>
  %3 = graph.cast %i : tensor<2xi8> -> tensor<2xf32>
  %4 = graph.cast %3 : tensor<2xf32> -> tensor<2xf16>
  %5 = graph.cast %b : tensor<2xi1> -> tensor<2xi32>
  %6 = graph.cast %5 : tensor<2xi32> -> tensor<2xi1>
  // CHECK: return %[[H]], %[[F]], %[[G]], %[[B]]
  return %1, %2, %4, %6 : tensor<2xbf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xi1>
}

// Rounding, truncation and saturation are the casts' purpose.
// CHECK-LABEL: func @lossy_casts
// CHECK-COUNT-10: graph.cast
func.func @lossy_casts(%x: tensor<2xf32>, %i: tensor<2xi16>, %e: tensor<2xf8E5M2>)
    -> (tensor<2xf32>, tensor<2xi1>, tensor<2xi8>, tensor<2xf32>, tensor<2xf8E5M2>) {
  %0 = graph.cast %x : tensor<2xf32> -> tensor<2xbf16>
  %1 = graph.cast %0 : tensor<2xbf16> -> tensor<2xf32>
  %2 = graph.cast %x : tensor<2xf32> -> tensor<2xi32>
  %3 = graph.cast %2 : tensor<2xi32> -> tensor<2xi1>
  // 300 wraps to 44 as an integer and saturates to 127 as a float.
  %4 = graph.cast %i : tensor<2xi16> -> tensor<2xf32>
  %5 = graph.cast %4 : tensor<2xf32> -> tensor<2xi8>
  %6 = graph.cast %x : tensor<2xf32> -> tensor<2xf8E4M3FN>
  %7 = graph.cast %6 : tensor<2xf8E4M3FN> -> tensor<2xf32>
  // An infinity saturates on its way back.
  %8 = graph.cast %e : tensor<2xf8E5M2> -> tensor<2xf32>
  %9 = graph.cast %8 : tensor<2xf32> -> tensor<2xf8E5M2>
  return %1, %3, %5, %7, %9 : tensor<2xf32>, tensor<2xi1>, tensor<2xi8>, tensor<2xf32>, tensor<2xf8E5M2>
}

// -----

// A sum of f16 may stay in f32 until a cast rounds it.
// CHECK-LABEL: func @rounding_casts
// CHECK: graph.add
// CHECK: graph.cast {{.*}} -> tensor<2xf32>
// CHECK: graph.cast {{.*}} -> tensor<2xf16>
func.func @rounding_casts(%a: tensor<2xf16>) -> tensor<2xf16> {
  %0 = graph.add %a, %a : tensor<2xf16>
  %1 = graph.cast %0 : tensor<2xf16> -> tensor<2xf32>
  %2 = graph.cast %1 : tensor<2xf32> -> tensor<2xf16>
  return %2 : tensor<2xf16>
}
