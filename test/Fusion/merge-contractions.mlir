// RUN: fusec-opt %s --split-input-file --fusec-fusion-merge-contractions | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-merge-contractions="print-decisions" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: fusec-opt %s --split-input-file --fusec-fusion-merge-contractions --fusec-fusion-form-groups="verify-groups" | FileCheck %s --check-prefix=PLAN

// Query, key and value of attention: one product, biases in one epilogue, and
// the products behind read their columns of it.
// WHY: 3 contractions of one operand merged, saving
// CHECK-LABEL: func @attention
// CHECK: %[[W:.*]] = graph.concat %{{.*}}, %{{.*}}, %{{.*}} axis = 1 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x192xf32>
// CHECK: %[[M:.*]] = graph.contract %{{.*}}, %[[W]] batch [] x [] contract [1] x [0] {{.*}} -> tensor<16x192xf32>
// CHECK: %[[B:.*]] = graph.concat {{.*}} axis = 0 {{.*}} -> tensor<192xf32>
// CHECK: graph.broadcast %[[B]] [1] : tensor<192xf32> -> tensor<16x192xf32>
// CHECK: %[[A:.*]] = graph.add %[[M]], %{{.*}} : tensor<16x192xf32>
// CHECK: graph.slice %[[A]] offsets [0, 0]
// CHECK: graph.slice %[[A]] offsets [0, 64]
// CHECK: graph.slice %[[A]] offsets [0, 128]
// CHECK-COUNT-2: graph.contract
// CHECK-NOT: graph.contract
// PLAN-LABEL: func @attention
// PLAN-COUNT-4: graph.fusion
// PLAN-NOT: graph.fusion
// PLAN: return
func.func @attention(%x: tensor<16x64xf32>, %wq: tensor<64x64xf32>, %wk: tensor<64x64xf32>, %wv: tensor<64x64xf32>, %bq: tensor<64xf32>, %bk: tensor<64xf32>, %bv: tensor<64xf32>) -> tensor<4x16x16xf32> {
  %q0 = graph.contract %x, %wq batch [] x [] contract [1] x [0] : tensor<16x64xf32>, tensor<64x64xf32> -> tensor<16x64xf32>
  %q1 = graph.broadcast %bq [1] : tensor<64xf32> -> tensor<16x64xf32>
  %q2 = graph.add %q0, %q1 : tensor<16x64xf32>
  %q3 = graph.reshape %q2 : tensor<16x64xf32> -> tensor<16x4x16xf32>
  %q = graph.transpose %q3 [1, 0, 2] : tensor<16x4x16xf32> -> tensor<4x16x16xf32>
  %k0 = graph.contract %x, %wk batch [] x [] contract [1] x [0] : tensor<16x64xf32>, tensor<64x64xf32> -> tensor<16x64xf32>
  %k1 = graph.broadcast %bk [1] : tensor<64xf32> -> tensor<16x64xf32>
  %k2 = graph.add %k0, %k1 : tensor<16x64xf32>
  %k3 = graph.reshape %k2 : tensor<16x64xf32> -> tensor<16x4x16xf32>
  %k = graph.transpose %k3 [1, 2, 0] : tensor<16x4x16xf32> -> tensor<4x16x16xf32>
  %s = graph.contract %q, %k batch [0] x [0] contract [2] x [1] : tensor<4x16x16xf32>, tensor<4x16x16xf32> -> tensor<4x16x16xf32>
  %m = graph.reduce max %s [2] : tensor<4x16x16xf32> -> tensor<4x16xf32>
  %mb = graph.broadcast %m [0, 1] : tensor<4x16xf32> -> tensor<4x16x16xf32>
  %p = graph.sub %s, %mb : tensor<4x16x16xf32>
  %v0 = graph.contract %x, %wv batch [] x [] contract [1] x [0] : tensor<16x64xf32>, tensor<64x64xf32> -> tensor<16x64xf32>
  %v1 = graph.broadcast %bv [1] : tensor<64xf32> -> tensor<16x64xf32>
  %v2 = graph.add %v0, %v1 : tensor<16x64xf32>
  %v3 = graph.reshape %v2 : tensor<16x64xf32> -> tensor<16x4x16xf32>
  %v = graph.transpose %v3 [1, 0, 2] : tensor<16x4x16xf32> -> tensor<4x16x16xf32>
  %r = graph.contract %p, %v batch [0] x [0] contract [2] x [1] : tensor<4x16x16xf32>, tensor<4x16x16xf32> -> tensor<4x16x16xf32>
  return %r : tensor<4x16x16xf32>
}

// -----

// Grouped heads: keys are narrower than queries. The shared operand may be the
// second one.
// WHY: 2 contractions of one operand merged, saving
// CHECK-LABEL: func @grouped
// CHECK: graph.concat {{.*}} axis = 0 : tensor<64x32xf16>, tensor<16x32xf16> -> tensor<80x32xf16>
// CHECK: graph.slice {{.*}} offsets [0, 0] {{.*}} -> tensor<64x24xf16>
// CHECK: graph.slice {{.*}} offsets [64, 0] {{.*}} -> tensor<16x24xf16>
func.func @grouped(%x: tensor<32x24xf16>, %wq: tensor<64x32xf16>, %wk: tensor<16x32xf16>) -> tensor<4x24x24xf16> {
  %q0 = graph.contract %wq, %x batch [] x [] contract [1] x [0] : tensor<64x32xf16>, tensor<32x24xf16> -> tensor<64x24xf16>
  %k = graph.contract %wk, %x batch [] x [] contract [1] x [0] : tensor<16x32xf16>, tensor<32x24xf16> -> tensor<16x24xf16>
  %q = graph.reshape %q0 : tensor<64x24xf16> -> tensor<4x16x24xf16>
  %s = graph.contract %q, %k batch [] x [] contract [1] x [0] : tensor<4x16x24xf16>, tensor<16x24xf16> -> tensor<4x24x24xf16>
  return %s : tensor<4x24x24xf16>
}

// -----

// gate * up: the product is the epilogue of one of the two, which merging would
// take away.
// WHY: 2 contractions of one operand not merged (NoProfit)
// WHY: to allow it: none: separate kernels are faster
// CHECK-LABEL: func @swiglu
// CHECK-NOT: graph.concat
// CHECK: return
// PLAN-LABEL: func @swiglu
// PLAN-COUNT-3: graph.fusion
// PLAN-NOT: graph.fusion
// PLAN: return
func.func @swiglu(%x: tensor<128x256xf32>, %wg: tensor<256x512xf32>, %wu: tensor<256x512xf32>, %wd: tensor<512x256xf32>) -> tensor<128x256xf32> {
  %g = graph.contract %x, %wg batch [] x [] contract [1] x [0] : tensor<128x256xf32>, tensor<256x512xf32> -> tensor<128x512xf32>
  %l = graph.logistic %g : tensor<128x512xf32>
  %a = graph.mul %g, %l : tensor<128x512xf32>
  %u = graph.contract %x, %wu batch [] x [] contract [1] x [0] : tensor<128x256xf32>, tensor<256x512xf32> -> tensor<128x512xf32>
  %h = graph.mul %a, %u : tensor<128x512xf32>
  %d = graph.contract %h, %wd batch [] x [] contract [1] x [0] : tensor<128x512xf32>, tensor<512x256xf32> -> tensor<128x256xf32>
  return %d : tensor<128x256xf32>
}

// -----

// Four gates of a cell: one product and one kernel behind it instead of four
// products.
// WHY: 4 contractions of one operand merged, saving
// CHECK-LABEL: func @cell
// CHECK-COUNT-1: graph.contract
// CHECK-NOT: graph.contract
// PLAN-LABEL: func @cell
// PLAN-COUNT-2: graph.fusion
// PLAN-NOT: graph.fusion
// PLAN: return
func.func @cell(%x: tensor<32x64xf32>, %c: tensor<32x64xf32>, %wi: tensor<64x64xf32>, %wf: tensor<64x64xf32>, %wo: tensor<64x64xf32>, %wg: tensor<64x64xf32>) -> tensor<32x64xf32> {
  %i0 = graph.contract %x, %wi batch [] x [] contract [1] x [0] : tensor<32x64xf32>, tensor<64x64xf32> -> tensor<32x64xf32>
  %f0 = graph.contract %x, %wf batch [] x [] contract [1] x [0] : tensor<32x64xf32>, tensor<64x64xf32> -> tensor<32x64xf32>
  %o0 = graph.contract %x, %wo batch [] x [] contract [1] x [0] : tensor<32x64xf32>, tensor<64x64xf32> -> tensor<32x64xf32>
  %g0 = graph.contract %x, %wg batch [] x [] contract [1] x [0] : tensor<32x64xf32>, tensor<64x64xf32> -> tensor<32x64xf32>
  %i = graph.logistic %i0 : tensor<32x64xf32>
  %f = graph.logistic %f0 : tensor<32x64xf32>
  %o = graph.logistic %o0 : tensor<32x64xf32>
  %g = graph.tanh %g0 : tensor<32x64xf32>
  %fc = graph.mul %f, %c : tensor<32x64xf32>
  %ig = graph.mul %i, %g : tensor<32x64xf32>
  %n = graph.add %fc, %ig : tensor<32x64xf32>
  %t = graph.tanh %n : tensor<32x64xf32>
  %h = graph.mul %o, %t : tensor<32x64xf32>
  return %h : tensor<32x64xf32>
}

// -----

// The second reads the first: they can not be one.
// WHY: 2 contractions of one operand not merged (WouldCreateCycle)
// CHECK-LABEL: func @dependent
// CHECK-COUNT-2: graph.contract
func.func @dependent(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %a = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %e = graph.tanh %a : tensor<16x16xf32>
  %b = graph.contract %x, %e batch [] x [] contract [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %b : tensor<16x16xf32>
}

// -----

// Products that return would have to be copied out of the merged one.
// WHY: 2 contractions of one operand not merged (NoProfit)
// CHECK-LABEL: func @returned
// CHECK-COUNT-2: graph.contract
func.func @returned(%x: tensor<256x64xf32>, %v: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<256x64xf32>, tensor<256x64xf32>) {
  %a = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<256x64xf32>, tensor<64x64xf32> -> tensor<256x64xf32>
  %b = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<256x64xf32>, tensor<64x64xf32> -> tensor<256x64xf32>
  return %a, %b : tensor<256x64xf32>, tensor<256x64xf32>
}

// -----

// Weights that are not constants are chosen element by element in the main
// loop: not where that loop is long.
// WHY: 2 contractions of one operand not merged (OperandsNotConstant)
// CHECK-LABEL: func @large
// CHECK-COUNT-3: graph.contract
func.func @large(%x: tensor<2048x4096xf32>, %v: tensor<4096x1024xf32>, %w: tensor<4096x1024xf32>) -> tensor<2048x2048xf32> {
  %a = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<2048x4096xf32>, tensor<4096x1024xf32> -> tensor<2048x1024xf32>
  %b = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<2048x4096xf32>, tensor<4096x1024xf32> -> tensor<2048x1024xf32>
  %s = graph.contract %a, %b batch [] x [] contract [1] x [1] : tensor<2048x1024xf32>, tensor<2048x1024xf32> -> tensor<2048x2048xf32>
  return %s : tensor<2048x2048xf32>
}

// -----

// Sets are of equal types, accumulations and dimensions; empty and unknown
// sizes stay as they are.
// CHECK-LABEL: func @different
// CHECK-NOT: graph.concat
// CHECK: return
func.func @different(%x: tensor<8x8xf32>, %v: tensor<8x8xf32>, %w: tensor<8x8xf32>, %e: tensor<8x0xf32>, %d: tensor<8x?xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x0xf32>, tensor<8x?xf32>) {
  %a = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %b = graph.contract %x, %w batch [] x [] contract [1] x [0] {allowTf32 = true} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %c = graph.contract %x, %e batch [] x [] contract [1] x [0] : tensor<8x8xf32>, tensor<8x0xf32> -> tensor<8x0xf32>
  %f = graph.contract %x, %d batch [] x [] contract [1] x [0] : tensor<8x8xf32>, tensor<8x?xf32> -> tensor<8x?xf32>
  return %a, %b, %c, %f : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x0xf32>, tensor<8x?xf32>
}

// -----

// Weights that are constants are joined while compiling, whatever the biases
// behind them are.
// WHY: 2 contractions of one operand merged, saving
// CHECK-LABEL: func @constant_weights
// CHECK: graph.concat {{.*}} axis = 1 : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x64xf32>
// CHECK: graph.concat %arg1, %{{.*}} axis = 0 : tensor<32xf32>, tensor<32xf32> -> tensor<64xf32>
func.func @constant_weights(%x: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<16x16xf32> {
  %wa = graph.constant dense<0.5> : tensor<32x32xf32>
  %wb = graph.constant dense<0.25> : tensor<32x32xf32>
  %bb = graph.constant dense<0.125> : tensor<32xf32>
  %a0 = graph.contract %x, %wa batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x32xf32> -> tensor<16x32xf32>
  %a1 = graph.broadcast %b [1] : tensor<32xf32> -> tensor<16x32xf32>
  %a = graph.add %a0, %a1 : tensor<16x32xf32>
  %b0 = graph.contract %x, %wb batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x32xf32> -> tensor<16x32xf32>
  %b1 = graph.broadcast %bb [1] : tensor<32xf32> -> tensor<16x32xf32>
  %c = graph.add %b0, %b1 : tensor<16x32xf32>
  %s = graph.contract %a, %c batch [] x [] contract [1] x [1] : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

// -----

// Only constants of one value are one constant.
// WHY: 2 contractions of one operand merged, saving
// CHECK-LABEL: func @splats
// CHECK-DAG: %[[SPLAT:.*]] = graph.constant dense<5.000000e-01> : tensor<16xf32>
// CHECK-DAG: %[[OTHER:.*]] = graph.constant dense<[5.000000e-01, 1.000000e+00,
// CHECK: graph.concat %[[SPLAT]], %[[OTHER]] axis = 0 : tensor<16xf32>, tensor<16xf32> -> tensor<32xf32>
func.func @splats(%x: tensor<16x32xf32>, %w: tensor<32x16xf32>, %v: tensor<32x16xf32>) -> tensor<16x16xf32> {
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %c = graph.constant dense<[0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : tensor<16xf32>
  %a0 = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  %a1 = graph.broadcast %b [1] : tensor<16xf32> -> tensor<16x16xf32>
  %a = graph.add %a0, %a1 : tensor<16x16xf32>
  %b0 = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  %b1 = graph.broadcast %c [1] : tensor<16xf32> -> tensor<16x16xf32>
  %d = graph.add %b0, %b1 : tensor<16x16xf32>
  %s = graph.contract %a, %d batch [] x [] contract [1] x [1] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}
