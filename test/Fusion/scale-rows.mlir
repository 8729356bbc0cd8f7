// RUN: split-file %s %t
// RUN: fusec compile %t/norm.mlir --emit=fused -o - | FileCheck %s --check-prefix=NORM
// RUN: fusec compile %t/norm.mlir --emit=fused --exact -o - | FileCheck %s --check-prefix=EXACT
// RUN: fusec compile %t/weights.mlir --emit=fused -o - | FileCheck %s --check-prefix=WEIGHTS
// RUN: fusec compile %t/copy.mlir --emit=fused -o - | FileCheck %s --check-prefix=COPY
// RUN: fusec compile %t/pair.mlir --emit=fused -o - | FileCheck %s --check-prefix=PAIR
// RUN: fusec compile %t/half.mlir --emit=fused -o - | FileCheck %s --check-prefix=HALF
// RUN: fusec compile %t/softmax.mlir --emit=fused -o - | FileCheck %s --check-prefix=SOFTMAX
// RUN: fusec compile %t/chain.mlir --emit=fused -o - | FileCheck %s --check-prefix=CHAIN
// RUN: fusec compile %t/constants.mlir --emit=fused -o - | FileCheck %s --check-prefix=CONSTANTS
// RUN: fusec compile %t/two.mlir --emit=fused -o - | FileCheck %s --check-prefix=TWO
// RUN: fusec run %t/uniform.mlir --target=emulator --against=reference | FileCheck %s --check-prefix=UNIFORM

// A norm becomes one vector; the product reads %x as it is. Weights of the norm
// go into those of the product, which are constants.
// NORM: graph.fusion({{.*}}) : (tensor<256x512xbf16>) -> tensor<256xf32>
// NORM:   graph.rsqrt
// NORM: graph.fusion
// NORM:   graph.contract {{.*}} -> tensor<256x128xf32>
// NORM-NEXT: graph.broadcast {{.*}} [0]
// NORM-NEXT: graph.mul
// NORM-NEXT: graph.cast
// NORM-NOT: graph.fusion

// EXACT: graph.fusion({{.*}}-> tensor<256x512xbf16> {
// EXACT: graph.contract {{.*}} -> tensor<256x128xbf16>

// Weights that are inputs would be written anew at each run.
// WEIGHTS: graph.fusion({{.*}}) : (tensor<256x512xbf16>, tensor<512xbf16>) -> tensor<256x512xbf16>
// WEIGHTS: graph.contract {{.*}} -> tensor<256x128xbf16>

// Unless that is little beside what is scaled: a copy of %w, a number a row.
// COPY: graph.fusion({{.*}}) : (tensor<32768x1024xbf16>) -> tensor<32768xf32>
// COPY: graph.fusion({{.*}}) : (tensor<1024xbf16>, tensor<1024x4096xbf16>) -> tensor<1024x4096xbf16>
// COPY: graph.broadcast
// COPY-NEXT: graph.mul
// COPY: graph.fusion
// COPY:   graph.contract {{.*}} -> tensor<32768x4096xf32>

// Of two products that are larger together, neither.
// PAIR: graph.fusion({{.*}}) : (tensor<32768x1024xbf16>, tensor<1024xbf16>) -> tensor<32768x1024xbf16>
// PAIR: graph.contract
// PAIR: graph.contract

// Products of weights in f16 may leave its range.
// HALF: graph.fusion({{.*}}) : (tensor<256x512xf16>, {{.*}}) -> tensor<256x512xf16>
// HALF: graph.contract {{.*}} -> tensor<256x128xf16>

// The kernel that sums the parts of a softmax stores them, scaled or not.
// SOFTMAX: graph.fusion({{.*}}) : (tensor<256x512xf16>) -> tensor<256x512xf16>
// SOFTMAX: graph.contract {{.*}} -> tensor<256x128xf16>

// Product, residual, norm, product: two kernels.
// CHAIN: graph.fusion({{.*}}) -> (tensor<256x512xbf16>, tensor<256xf32>)
// CHAIN:   graph.contract
// CHAIN:   graph.reduce sum
// CHAIN:   graph.rsqrt
// CHAIN: graph.fusion
// CHAIN:   graph.contract
// CHAIN-NOT: graph.fusion

// What makes the sum smaller comes before the factor of any size, what makes it
// larger after it.
// CONSTANTS: %[[LESS:.*]] = graph.constant dense<5.000000e-01>
// CONSTANTS: %[[MORE:.*]] = graph.constant dense<4.000000e+00>
// CONSTANTS: graph.contract {{.*}} -> tensor<256x128xf32>
// CONSTANTS: graph.cast %[[LESS]]
// CONSTANTS: graph.mul
// CONSTANTS: graph.broadcast {{.*}} [0]
// CONSTANTS: graph.mul
// CONSTANTS: graph.cast %[[MORE]]
// CONSTANTS: graph.mul
// CONSTANTS: graph.cast {{.*}} -> tensor<256x128xbf16>

// Of two factors of any size the first could be infinite where the second
// brings it back.
// TWO: graph.contract {{.*}} -> tensor<256x128xbf16>

// One number along k is a factor of rows, in f16, too; the bounds of the graph
// as written say so as well.
// UNIFORM-NOT: WRONG
// UNIFORM: equal

//--- norm.mlir
func.func @f(%x: tensor<256x512xbf16>) -> tensor<256x128xbf16> {
  %g = graph.iota 0 : tensor<512xbf16>
  %w = graph.constant dense<0.25> : tensor<512x128xbf16>
  %n = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : tensor<256x512xbf16>, tensor<512xbf16>
  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<256x512xbf16>, tensor<512x128xbf16> -> tensor<256x128xbf16>
  return %y : tensor<256x128xbf16>
}

//--- copy.mlir
func.func @f(%x: tensor<32768x1024xbf16>, %g: tensor<1024xbf16>, %w: tensor<1024x4096xbf16>) -> tensor<32768x4096xbf16> {
  %n = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : tensor<32768x1024xbf16>, tensor<1024xbf16>
  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<32768x1024xbf16>, tensor<1024x4096xbf16> -> tensor<32768x4096xbf16>
  return %y : tensor<32768x4096xbf16>
}

//--- pair.mlir
func.func @f(%x: tensor<32768x1024xbf16>, %g: tensor<1024xbf16>, %w: tensor<1024x8192xbf16>, %v: tensor<8192x1024xbf16>) -> (tensor<32768x8192xbf16>, tensor<32768x8192xbf16>) {
  %n = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : tensor<32768x1024xbf16>, tensor<1024xbf16>
  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<32768x1024xbf16>, tensor<1024x8192xbf16> -> tensor<32768x8192xbf16>
  %z = graph.contract %n, %v batch [] x [] contract [1] x [1] : tensor<32768x1024xbf16>, tensor<8192x1024xbf16> -> tensor<32768x8192xbf16>
  return %y, %z : tensor<32768x8192xbf16>, tensor<32768x8192xbf16>
}

//--- half.mlir
func.func @f(%x: tensor<256x512xf16>) -> tensor<256x128xf16> {
  %g = graph.iota 0 : tensor<512xf16>
  %w = graph.constant dense<0.25> : tensor<512x128xf16>
  %n = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : tensor<256x512xf16>, tensor<512xf16>
  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<256x512xf16>, tensor<512x128xf16> -> tensor<256x128xf16>
  return %y : tensor<256x128xf16>
}

//--- weights.mlir
func.func @f(%x: tensor<256x512xbf16>, %g: tensor<512xbf16>, %w: tensor<512x128xbf16>) -> tensor<256x128xbf16> {
  %n = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : tensor<256x512xbf16>, tensor<512xbf16>
  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<256x512xbf16>, tensor<512x128xbf16> -> tensor<256x128xbf16>
  return %y : tensor<256x128xbf16>
}

//--- softmax.mlir
func.func @f(%x: tensor<256x512xf16>, %w: tensor<512x128xf16>) -> tensor<256x128xf16> {
  %e = graph.exp %x : tensor<256x512xf16>
  %s = graph.reduce sum %e [1] : tensor<256x512xf16> -> tensor<256xf16>
  %m = graph.reduce max %x [1] : tensor<256x512xf16> -> tensor<256xf16>
  %c = graph.broadcast %m [0] : tensor<256xf16> -> tensor<256x512xf16>
  %d = graph.sub %e, %c : tensor<256x512xf16>
  %b = graph.broadcast %s [0] : tensor<256xf16> -> tensor<256x512xf16>
  %p = graph.div %d, %b : tensor<256x512xf16>
  %y = graph.contract %p, %w batch [] x [] contract [1] x [0] : tensor<256x512xf16>, tensor<512x128xf16> -> tensor<256x128xf16>
  return %y : tensor<256x128xf16>
}

//--- chain.mlir
func.func @f(%x: tensor<256x512xbf16>, %r: tensor<256x512xbf16>, %v: tensor<512x512xbf16>, %w: tensor<512x128xbf16>) -> (tensor<256x512xbf16>, tensor<256x128xbf16>) {
  %e = graph.constant dense<1.0e-5> : tensor<256xf32>
  %k = graph.constant dense<512.0> : tensor<256xf32>
  %p = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<256x512xbf16>, tensor<512x512xbf16> -> tensor<256x512xbf16>
  %h = graph.add %p, %r : tensor<256x512xbf16>
  %c = graph.cast %h : tensor<256x512xbf16> -> tensor<256x512xf32>
  %q = graph.mul %c, %c : tensor<256x512xf32>
  %s = graph.reduce sum %q [1] : tensor<256x512xf32> -> tensor<256xf32>
  %m = graph.div %s, %k : tensor<256xf32>
  %a = graph.add %m, %e : tensor<256xf32>
  %f = graph.rsqrt %a : tensor<256xf32>
  %b = graph.broadcast %f [0] : tensor<256xf32> -> tensor<256x512xf32>
  %n = graph.mul %c, %b : tensor<256x512xf32>
  %o = graph.cast %n : tensor<256x512xf32> -> tensor<256x512xbf16>
  %y = graph.contract %o, %w batch [] x [] contract [1] x [0] : tensor<256x512xbf16>, tensor<512x128xbf16> -> tensor<256x128xbf16>
  return %h, %y : tensor<256x512xbf16>, tensor<256x128xbf16>
}

//--- constants.mlir
func.func @f(%x: tensor<256x512xbf16>, %s: tensor<256xbf16>, %w: tensor<512x128xbf16>) -> tensor<256x128xbf16> {
  %four = graph.constant dense<4.0> : tensor<256x512xbf16>
  %half = graph.constant dense<0.5> : tensor<256x512xbf16>
  %b = graph.broadcast %s [0] : tensor<256xbf16> -> tensor<256x512xbf16>
  %m = graph.mul %x, %half : tensor<256x512xbf16>
  %n = graph.mul %m, %b : tensor<256x512xbf16>
  %o = graph.mul %n, %four : tensor<256x512xbf16>
  %y = graph.contract %o, %w batch [] x [] contract [1] x [0] : tensor<256x512xbf16>, tensor<512x128xbf16> -> tensor<256x128xbf16>
  return %y : tensor<256x128xbf16>
}

//--- two.mlir
func.func @f(%x: tensor<256x512xbf16>, %s: tensor<256xbf16>, %t: tensor<256xbf16>, %w: tensor<512x128xbf16>) -> tensor<256x128xbf16> {
  %b = graph.broadcast %s [0] : tensor<256xbf16> -> tensor<256x512xbf16>
  %c = graph.broadcast %t [0] : tensor<256xbf16> -> tensor<256x512xbf16>
  %m = graph.mul %x, %b : tensor<256x512xbf16>
  %n = graph.mul %m, %c : tensor<256x512xbf16>
  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<256x512xbf16>, tensor<512x128xbf16> -> tensor<256x128xbf16>
  return %y : tensor<256x128xbf16>
}

//--- uniform.mlir
func.func @f(%x: tensor<128x72xf16>, %s: tensor<128xf32>, %w: tensor<72x136xf16>) -> tensor<128x136xf16> {
  %v = graph.cast %x : tensor<128x72xf16> -> tensor<128x72xf32>
  %b = graph.broadcast %s [0] : tensor<128xf32> -> tensor<128x72xf32>
  %m = graph.mul %v, %b : tensor<128x72xf32>
  %h = graph.cast %m : tensor<128x72xf32> -> tensor<128x72xf16>
  %c = graph.constant dense<1.25> : tensor<72xf16>
  %d = graph.broadcast %c [1] : tensor<72xf16> -> tensor<128x72xf16>
  %n = graph.mul %h, %d : tensor<128x72xf16>
  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<128x72xf16>, tensor<72x136xf16> -> tensor<128x136xf16>
  return %y : tensor<128x136xf16>
}
