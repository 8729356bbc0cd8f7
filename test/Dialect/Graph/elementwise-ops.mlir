// RUN: fusec-opt %s --verify-roundtrip | FileCheck %s
// RUN: fusec-opt %s --test-graph-build-elements -o /dev/null
// RUN: fusec-opt %s --test-graph-build-elements --canonicalize | FileCheck %s --check-prefix=SCALAR

// Every unary float op prints as it parses.
// CHECK-LABEL: func @float_unary
func.func @float_unary(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.abs %{{.*}} : tensor<4xf32>
  %0 = graph.abs %x : tensor<4xf32>
  %1 = graph.neg %0 : tensor<4xf32>
  %2 = graph.sign %1 : tensor<4xf32>
  %3 = graph.floor %2 : tensor<4xf32>
  %4 = graph.ceil %3 : tensor<4xf32>
  %5 = graph.trunc %4 : tensor<4xf32>
  %6 = graph.round %5 : tensor<4xf32>
  %7 = graph.sqrt %6 : tensor<4xf32>
  %8 = graph.rsqrt %7 : tensor<4xf32>
  %9 = graph.cbrt %8 : tensor<4xf32>
  %10 = graph.exp %9 : tensor<4xf32>
  %11 = graph.exp2 %10 : tensor<4xf32>
  %12 = graph.expm1 %11 : tensor<4xf32>
  %13 = graph.log %12 : tensor<4xf32>
  %14 = graph.log2 %13 : tensor<4xf32>
  %15 = graph.log1p %14 : tensor<4xf32>
  %16 = graph.sin %15 : tensor<4xf32>
  %17 = graph.cos %16 : tensor<4xf32>
  %18 = graph.tan %17 : tensor<4xf32>
  %19 = graph.asin %18 : tensor<4xf32>
  %20 = graph.acos %19 : tensor<4xf32>
  %21 = graph.atan %20 : tensor<4xf32>
  %22 = graph.sinh %21 : tensor<4xf32>
  %23 = graph.cosh %22 : tensor<4xf32>
  %24 = graph.tanh %23 : tensor<4xf32>
  %25 = graph.asinh %24 : tensor<4xf32>
  %26 = graph.acosh %25 : tensor<4xf32>
  %27 = graph.atanh %26 : tensor<4xf32>
  %28 = graph.erf %27 : tensor<4xf32>
  // CHECK: graph.logistic %{{.*}} : tensor<4xf32>
  %29 = graph.logistic %28 : tensor<4xf32>
  return %29 : tensor<4xf32>
}

// Rank 0, size 0 and every element type are tensors like others.
// CHECK-LABEL: func @element_types
func.func @element_types(%a: tensor<f64>, %b: tensor<0xf16>, %c: tensor<2xbf16>, %d: tensor<2xf8E4M3FN>,
    %e: tensor<2xf8E5M2>, %f: tensor<2xi4>, %g: tensor<2xui4>, %h: tensor<2xi8>, %i: tensor<2xui64>,
    %j: tensor<2xi1>) {
  // CHECK: graph.neg %{{.*}} : tensor<f64>
  %0 = graph.neg %a : tensor<f64>
  %1 = graph.neg %b : tensor<0xf16>
  %2 = graph.exp %c : tensor<2xbf16>
  %3 = graph.add %d, %d : tensor<2xf8E4M3FN>
  %4 = graph.add %e, %e : tensor<2xf8E5M2>
  %5 = graph.div %f, %f : tensor<2xi4>
  %6 = graph.div %g, %g : tensor<2xui4>
  %7 = graph.abs %h : tensor<2xi8>
  %8 = graph.abs %i : tensor<2xui64>
  // CHECK: graph.not %{{.*}} : tensor<2xi1>
  %9 = graph.not %j : tensor<2xi1>
  %10 = graph.sign %i : tensor<2xui64>
  %11 = graph.sign %h : tensor<2xi8>
  return
}

// CHECK-LABEL: func @binary
func.func @binary(%x: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui8>, %b: tensor<4xi1>) {
  %0 = graph.add %x, %x : tensor<4xf32>
  %1 = graph.sub %i, %i : tensor<4xi32>
  %2 = graph.mul %u, %u : tensor<4xui8>
  %3 = graph.div %x, %x : tensor<4xf32>
  %4 = graph.rem %x, %x : tensor<4xf32>
  %5 = graph.rem %i, %i : tensor<4xi32>
  %6 = graph.rem %u, %u : tensor<4xui8>
  %7 = graph.mod %x, %x : tensor<4xf32>
  %8 = graph.mod %i, %i : tensor<4xi32>
  %9 = graph.mod %u, %u : tensor<4xui8>
  %10 = graph.pow %x, %x : tensor<4xf32>
  %11 = graph.pow %i, %i : tensor<4xi32>
  %12 = graph.pow %u, %u : tensor<4xui8>
  %13 = graph.max %x, %x : tensor<4xf32>
  %14 = graph.min %i, %i : tensor<4xi32>
  %15 = graph.max %u, %u : tensor<4xui8>
  %16 = graph.atan2 %x, %x : tensor<4xf32>
  %17 = graph.and %b, %b : tensor<4xi1>
  %18 = graph.or %i, %i : tensor<4xi32>
  %19 = graph.xor %u, %u : tensor<4xui8>
  %20 = graph.shl %i, %i : tensor<4xi32>
  %21 = graph.shr %i, %i : tensor<4xi32>
  %22 = graph.shr %u, %u : tensor<4xui8>
  // CHECK: graph.compare ge %{{.*}}, %{{.*}} : tensor<4xf32>
  %23 = graph.compare ge %x, %x : tensor<4xf32>
  %24 = graph.compare lt %u, %u : tensor<4xui8>
  %25 = graph.compare gt %b, %b : tensor<4xi1>
  // CHECK: graph.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xui8>
  %26 = graph.select %b, %u, %u : tensor<4xi1>, tensor<4xui8>
  // CHECK: graph.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi32>
  %27 = graph.clamp %i, %i, %i : tensor<4xi32>
  %28 = graph.clamp %u, %u, %u : tensor<4xui8>
  %29 = graph.clamp %x, %x, %x : tensor<4xf32>
  // CHECK: graph.is_nan %{{.*}} : tensor<4xf32>
  %30 = graph.is_nan %x : tensor<4xf32>
  %31 = graph.is_inf %x : tensor<4xf32>
  return
}

// Casts between all kinds of element types make well-formed code.
// CHECK-LABEL: func @casts
func.func @casts(%a: tensor<3xf64>, %b: tensor<3xi64>, %c: tensor<3xui4>, %d: tensor<3xf8E5M2>, %e: tensor<3xi1>) {
  %0 = graph.cast %a : tensor<3xf64> -> tensor<3xbf16>
  %1 = graph.cast %a : tensor<3xf64> -> tensor<3xf8E4M3FN>
  // CHECK: graph.cast %{{.*}} {saturate = false} : tensor<3xf64> -> tensor<3xf8E5M2>
  %2 = graph.cast %a {saturate = false} : tensor<3xf64> -> tensor<3xf8E5M2>
  %3 = graph.cast %a : tensor<3xf64> -> tensor<3xui64>
  %4 = graph.cast %a : tensor<3xf64> -> tensor<3xi4>
  %5 = graph.cast %a : tensor<3xf64> -> tensor<3xi1>
  %6 = graph.cast %b : tensor<3xi64> -> tensor<3xbf16>
  %7 = graph.cast %b : tensor<3xi64> -> tensor<3xf16>
  %8 = graph.cast %b : tensor<3xi64> -> tensor<3xf8E4M3FN>
  %9 = graph.cast %b : tensor<3xi64> -> tensor<3xf32>
  %10 = graph.cast %b : tensor<3xi64> -> tensor<3xui4>
  %11 = graph.cast %c : tensor<3xui4> -> tensor<3xi64>
  %12 = graph.cast %c : tensor<3xui4> -> tensor<3xf16>
  %13 = graph.cast %d : tensor<3xf8E5M2> -> tensor<3xf64>
  %14 = graph.cast %d : tensor<3xf8E5M2> -> tensor<3xf8E4M3FN>
  %15 = graph.cast %e : tensor<3xi1> -> tensor<3xf32>
  %16 = graph.cast %e : tensor<3xi1> -> tensor<3xi8>
  return
}

// CHECK-LABEL: func @quantisation
func.func @quantisation(%x: tensor<4xf16>, %s: tensor<4xf32>, %z: tensor<4xui8>, %f: tensor<4xf8E4M3FN>, %w: tensor<4xi32>) {
  // CHECK: graph.quantize %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf16>, tensor<4xf32>, tensor<4xui8> -> tensor<4xui8>
  %0 = graph.quantize %x, %s, %z : tensor<4xf16>, tensor<4xf32>, tensor<4xui8> -> tensor<4xui8>
  %1 = graph.dequantize %0, %s, %z : tensor<4xui8>, tensor<4xf32>, tensor<4xui8> -> tensor<4xf16>
  %2 = graph.quantize %s, %s, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf8E4M3FN> -> tensor<4xf8E4M3FN>
  %3 = graph.dequantize %2, %s, %f : tensor<4xf8E4M3FN>, tensor<4xf32>, tensor<4xf8E4M3FN> -> tensor<4xf64>
  %4 = graph.quantize %s, %s, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xi32> -> tensor<4xi32>
  %5 = graph.dequantize %4, %s, %w : tensor<4xi32>, tensor<4xf32>, tensor<4xi32> -> tensor<4xf32>
  return
}

// Signedness comes from the tensor, the computation from compute types.
// SCALAR-LABEL: func @scalar_code
func.func @scalar_code(%u: tensor<2xui8>, %h: tensor<2xf16>) -> (tensor<2xui8>, tensor<2xf16>) {
  // SCALAR: scf.for
  // SCALAR: %[[ZERO:.*]] = arith.cmpi eq, %[[RHS:[^,]*]], %c0_i8 : i8
  // SCALAR: %[[SAFE:.*]] = arith.select %[[ZERO]], %c1_i8, %[[RHS]] : i8
  // SCALAR: %[[QUOTIENT:.*]] = arith.divui %{{.*}}, %[[SAFE]] : i8
  // SCALAR: arith.select %[[ZERO]], %c0_i8, %[[QUOTIENT]] : i8
  %0 = graph.div %u, %u : tensor<2xui8>
  // SCALAR: scf.for
  // SCALAR: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
  // SCALAR: %[[EXP:.*]] = math.exp %[[WIDE]] : f32
  // SCALAR: arith.truncf %[[EXP]] : f32 to f16
  %1 = graph.exp %h : tensor<2xf16>
  return %0, %1 : tensor<2xui8>, tensor<2xf16>
}
