// RUN: fusec-opt %s --fusec-graph-float8-products | FileCheck %s

// A scale for all of the left operand, one for each row of the right one.
// CHECK-LABEL: func @dequantised
// CHECK: %[[P:.*]] = graph.contract %arg0, %arg1 batch [] x [] contract [1] x [1] : tensor<4x32xf8E4M3FN>, tensor<8x32xf8E5M2> -> tensor<4x8xf32>
// CHECK: %[[SA:.*]] = graph.cast %arg2 : tensor<f16> -> tensor<f32>
// CHECK: %[[SAS:.*]] = graph.broadcast %[[SA]] [] : tensor<f32> -> tensor<4x8xf32>
// CHECK: %[[X:.*]] = graph.mul %[[P]], %[[SAS]]
// CHECK: %[[SB:.*]] = graph.cast %arg3 : tensor<8xf16> -> tensor<8xf32>
// CHECK: %[[SBS:.*]] = graph.broadcast %[[SB]] [1] : tensor<8xf32> -> tensor<4x8xf32>
// CHECK: %[[Y:.*]] = graph.mul %[[X]], %[[SBS]]
// CHECK: %[[R:.*]] = graph.cast %[[Y]] : tensor<4x8xf32> -> tensor<4x8xf16>
// CHECK: return %[[R]]
func.func @dequantised(%a: tensor<4x32xf8E4M3FN>, %b: tensor<8x32xf8E5M2>, %sa: tensor<f16>, %sb: tensor<8xf16>) -> tensor<4x8xf16> {
  %aw = graph.cast %a : tensor<4x32xf8E4M3FN> -> tensor<4x32xf16>
  %bw = graph.cast %b : tensor<8x32xf8E5M2> -> tensor<8x32xf16>
  %sas = graph.broadcast %sa [] : tensor<f16> -> tensor<4x32xf16>
  %sbs = graph.broadcast %sb [0] : tensor<8xf16> -> tensor<8x32xf16>
  %am = graph.mul %aw, %sas : tensor<4x32xf16>
  %bm = graph.mul %sbs, %bw : tensor<8x32xf16>
  %r = graph.contract %am, %bm batch [] x [] contract [1] x [1] : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}

// Behind a transpose, with batches; dequantisation by an operator and by a
// constant. Fast accumulation stays.
// CHECK-LABEL: func @transposed
// CHECK: %[[T:.*]] = graph.transpose %arg1 [0, 2, 1] : tensor<3x8x32xf8E4M3FN> -> tensor<3x32x8xf8E4M3FN>
// CHECK: graph.contract %arg0, %[[T]] batch [0] x [0] contract [2] x [1] {graph.fast_accumulation} : tensor<3x4x32xf8E4M3FN>, tensor<3x32x8xf8E4M3FN> -> tensor<3x4x8xf32>
// CHECK: graph.constant dense<5.000000e-01> : tensor<bf16>
// CHECK: graph.broadcast %{{.*}} [0, 2] : tensor<3x8xf32> -> tensor<3x4x8xf32>
func.func @transposed(%a: tensor<3x4x32xf8E4M3FN>, %b: tensor<3x8x32xf8E4M3FN>, %sb: tensor<3x8xbf16>) -> tensor<3x4x8xbf16> {
  %aw = graph.cast %a : tensor<3x4x32xf8E4M3FN> -> tensor<3x4x32xbf16>
  %half = graph.constant dense<0.5> : tensor<3x4x32xbf16>
  %am = graph.mul %aw, %half : tensor<3x4x32xbf16>
  %sbs = graph.broadcast %sb [0, 1] : tensor<3x8xbf16> -> tensor<3x8x32xbf16>
  %zero = graph.constant dense<0.0> : tensor<3x8x32xf8E4M3FN>
  %bm = graph.dequantize %b, %sbs, %zero : tensor<3x8x32xf8E4M3FN>, tensor<3x8x32xbf16>, tensor<3x8x32xf8E4M3FN> -> tensor<3x8x32xbf16>
  %bt = graph.transpose %bm [0, 2, 1] : tensor<3x8x32xbf16> -> tensor<3x32x8xbf16>
  %r = graph.contract %am, %bt batch [0] x [0] contract [2] x [1] {graph.fast_accumulation} : tensor<3x4x32xbf16>, tensor<3x32x8xbf16> -> tensor<3x4x8xbf16>
  return %r : tensor<3x4x8xbf16>
}

// f32 operands that may be rounded to TF32.
// CHECK-LABEL: func @tf32
// CHECK: graph.contract {{.*}} : tensor<4x32xf8E4M3FN>, tensor<32x8xf8E4M3FN> -> tensor<4x8xf32>
// CHECK-NEXT: return
func.func @tf32(%a: tensor<4x32xf8E4M3FN>, %b: tensor<32x8xf8E4M3FN>) -> tensor<4x8xf32> {
  %aw = graph.cast %a : tensor<4x32xf8E4M3FN> -> tensor<4x32xf32>
  %bw = graph.cast %b : tensor<32x8xf8E4M3FN> -> tensor<32x8xf32>
  %r = graph.contract %aw, %bw batch [] x [] contract [1] x [0] {allowTf32 = true} : tensor<4x32xf32>, tensor<32x8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// f32 operands without such a permission, a factor for each k, an operand that
// is none of 8 bits, and short sums stay.
// CHECK-LABEL: func @others
// CHECK: graph.contract {{.*}} : tensor<4x32xf32>, tensor<32x8xf32>
// CHECK: graph.contract {{.*}} : tensor<4x32xf16>, tensor<32x8xf16>
// CHECK: graph.contract {{.*}} : tensor<4x32xf16>, tensor<32x8xf16>
// CHECK: graph.contract {{.*}} : tensor<4x8xf16>, tensor<8x8xf16>
func.func @others(%a: tensor<4x32xf8E4M3FN>, %b: tensor<32x8xf8E4M3FN>, %sk: tensor<32xf16>, %w: tensor<32x8xf16>, %c: tensor<8x8xf8E4M3FN>)
    -> (tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x8xf16>) {
  %aw = graph.cast %a : tensor<4x32xf8E4M3FN> -> tensor<4x32xf32>
  %bw = graph.cast %b : tensor<32x8xf8E4M3FN> -> tensor<32x8xf32>
  %r0 = graph.contract %aw, %bw batch [] x [] contract [1] x [0] : tensor<4x32xf32>, tensor<32x8xf32> -> tensor<4x8xf32>
  %ah = graph.cast %a : tensor<4x32xf8E4M3FN> -> tensor<4x32xf16>
  %bh = graph.cast %b : tensor<32x8xf8E4M3FN> -> tensor<32x8xf16>
  %sks = graph.broadcast %sk [1] : tensor<32xf16> -> tensor<4x32xf16>
  %ak = graph.mul %ah, %sks : tensor<4x32xf16>
  %r1 = graph.contract %ak, %bh batch [] x [] contract [1] x [0] : tensor<4x32xf16>, tensor<32x8xf16> -> tensor<4x8xf16>
  %r2 = graph.contract %ah, %w batch [] x [] contract [1] x [0] : tensor<4x32xf16>, tensor<32x8xf16> -> tensor<4x8xf16>
  %short = graph.slice %ah offsets [0, 0] strides [1, 1] : tensor<4x32xf16> -> tensor<4x8xf16>
  %ch = graph.cast %c : tensor<8x8xf8E4M3FN> -> tensor<8x8xf16>
  %r3 = graph.contract %short, %ch batch [] x [] contract [1] x [0] : tensor<4x8xf16>, tensor<8x8xf16> -> tensor<4x8xf16>
  return %r0, %r1, %r2, %r3 : tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x8xf16>
}

// Of two factors of any size the first is divided: what lies outside of what a
// sum of 32 terms may be multiplied by follows the second.
// CHECK-LABEL: func @wide
// CHECK: %[[P:.*]] = graph.contract %arg0, %arg1 {{.*}} -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = graph.cast %arg2 : tensor<4xbf16> -> tensor<4xf32>
// 2^-101 and 2^97: sums are 0 or between 2^-25 and 2^30.
// CHECK-DAG: %[[LOW:.*]] = graph.constant dense<3.94430453E-31>
// CHECK-DAG: %[[HIGH:.*]] = graph.constant dense<1.58456325E+29>
// CHECK: %[[SIZE:.*]] = graph.abs %[[S]]
// CHECK: %[[SMALL:.*]] = graph.compare lt %[[SIZE]], %[[LOW]]
// CHECK: %[[LARGE:.*]] = graph.compare gt %[[SIZE]], %[[HIGH]]
// CHECK: %[[IN:.*]] = graph.select %[[LARGE]], %[[HIGH]], %[[S]]
// CHECK: %[[NEAR:.*]] = graph.select %[[SMALL]], %[[LOW]], %[[IN]]
// CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00>
// CHECK: %[[REST:.*]] = graph.select %{{.*}}, %{{.*}}, %[[ONE]]
// CHECK: %[[NEARS:.*]] = graph.broadcast %[[NEAR]] [0] : tensor<4xf32> -> tensor<4x8xf32>
// CHECK: %[[PN:.*]] = graph.mul %[[P]], %[[NEARS]]
// CHECK: %[[T:.*]] = graph.cast %arg3 : tensor<8xbf16> -> tensor<8xf32>
// CHECK: %[[TS:.*]] = graph.broadcast %[[T]] [1]
// CHECK: %[[PNT:.*]] = graph.mul %[[PN]], %[[TS]]
// CHECK: %[[RESTS:.*]] = graph.broadcast %[[REST]] [0]
// CHECK: %[[R:.*]] = graph.mul %[[PNT]], %[[RESTS]]
// CHECK: graph.cast %[[R]]
func.func @wide(%a: tensor<4x32xf8E4M3FN>, %b: tensor<32x8xf8E5M2>, %sa: tensor<4xbf16>, %sb: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %aw = graph.cast %a : tensor<4x32xf8E4M3FN> -> tensor<4x32xbf16>
  %bw = graph.cast %b : tensor<32x8xf8E5M2> -> tensor<32x8xbf16>
  %sas = graph.broadcast %sa [0] : tensor<4xbf16> -> tensor<4x32xbf16>
  %sbs = graph.broadcast %sb [1] : tensor<8xbf16> -> tensor<32x8xbf16>
  %am = graph.mul %aw, %sas : tensor<4x32xbf16>
  %bm = graph.mul %bw, %sbs : tensor<32x8xbf16>
  %r = graph.contract %am, %bm batch [] x [] contract [1] x [0] : tensor<4x32xbf16>, tensor<32x8xbf16> -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}

// One factor for all of an operand is divided rather than one for each row;
// constants of ordinary size come first.
// CHECK-LABEL: func @scalar
// CHECK: %[[P:.*]] = graph.contract
// CHECK: %[[C:.*]] = graph.constant dense<5.000000e-01>
// CHECK: %[[CW:.*]] = graph.cast %[[C]]
// CHECK: graph.broadcast %[[CW]]
// CHECK: %[[S:.*]] = graph.cast %arg3 : tensor<bf16> -> tensor<f32>
// CHECK: graph.compare lt {{.*}} : tensor<f32>
// CHECK: graph.cast %arg2 : tensor<4xbf16> -> tensor<4xf32>
// CHECK-COUNT-2: graph.mul {{.*}} : tensor<4x8xf32>
func.func @scalar(%a: tensor<4x32xf8E4M3FN>, %b: tensor<32x8xf8E5M2>, %sa: tensor<4xbf16>, %sb: tensor<bf16>) -> tensor<4x8xf32> {
  %aw = graph.cast %a : tensor<4x32xf8E4M3FN> -> tensor<4x32xbf16>
  %bw = graph.cast %b : tensor<32x8xf8E5M2> -> tensor<32x8xbf16>
  %half = graph.constant dense<0.5> : tensor<32x8xbf16>
  %sas = graph.broadcast %sa [0] : tensor<4xbf16> -> tensor<4x32xbf16>
  %sbs = graph.broadcast %sb [] : tensor<bf16> -> tensor<32x8xbf16>
  %am = graph.mul %aw, %sas : tensor<4x32xbf16>
  %bh = graph.mul %bw, %half : tensor<32x8xbf16>
  %bm = graph.mul %bh, %sbs : tensor<32x8xbf16>
  %r = graph.contract %am, %bm batch [] x [] contract [1] x [0] : tensor<4x32xbf16>, tensor<32x8xbf16> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Constants whose elements are of ordinary size need nothing; three factors of
// any size have no order.
// CHECK-LABEL: func @constants
// CHECK: graph.contract {{.*}} -> tensor<4x8xf32>
// CHECK-NOT: graph.select
// CHECK: graph.contract {{.*}} : tensor<4x32xbf16>, tensor<32x8xbf16> -> tensor<4x8xf32>
func.func @constants(%a: tensor<4x32xf8E4M3FN>, %b: tensor<32x8xf8E5M2>, %sa: tensor<4xbf16>, %sb: tensor<8xbf16>, %t: tensor<bf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %aw = graph.cast %a : tensor<4x32xf8E4M3FN> -> tensor<4x32xbf16>
  %bw = graph.cast %b : tensor<32x8xf8E5M2> -> tensor<32x8xbf16>
  %c = graph.constant dense<[0.5, 3.0e-2, 0.0, 1.0e5]> : tensor<4xbf16>
  %cs = graph.broadcast %c [0] : tensor<4xbf16> -> tensor<4x32xbf16>
  %sas = graph.broadcast %sa [0] : tensor<4xbf16> -> tensor<4x32xbf16>
  %sbs = graph.broadcast %sb [1] : tensor<8xbf16> -> tensor<32x8xbf16>
  %ts = graph.broadcast %t [] : tensor<bf16> -> tensor<32x8xbf16>
  %ac = graph.mul %aw, %cs : tensor<4x32xbf16>
  %bm = graph.mul %bw, %sbs : tensor<32x8xbf16>
  %r0 = graph.contract %ac, %bm batch [] x [] contract [1] x [0] : tensor<4x32xbf16>, tensor<32x8xbf16> -> tensor<4x8xf32>
  %am = graph.mul %aw, %sas : tensor<4x32xbf16>
  %bt = graph.mul %bm, %ts : tensor<32x8xbf16>
  %r1 = graph.contract %am, %bt batch [] x [] contract [1] x [0] : tensor<4x32xbf16>, tensor<32x8xbf16> -> tensor<4x8xf32>
  return %r0, %r1 : tensor<4x8xf32>, tensor<4x8xf32>
}
