// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups row-statistics" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions row-statistics" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s --check-prefix=OFF

// The sum of squares of a result, and what is made of it for each row, in the
// product's kernel.
// WHY: contraction kernel of {{[0-9]+}} ops, 3 inputs, 2 outputs
// CHECK-LABEL: func @squares
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.reduce sum
// CHECK:   graph.rsqrt
// CHECK-NOT: graph.fusion
// CHECK: return
// OFF-LABEL: func @squares
// OFF: graph.fusion
// OFF: graph.fusion
// OFF:   graph.reduce sum
func.func @squares(%a: tensor<512x256xbf16>, %b: tensor<256x768xbf16>, %r: tensor<512x768xbf16>) -> (tensor<512x768xbf16>, tensor<512xf32>) {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<512x256xbf16>, tensor<256x768xbf16> -> tensor<512x768xbf16>
  %y = graph.add %p, %r : tensor<512x768xbf16>
  %w = graph.cast %y : tensor<512x768xbf16> -> tensor<512x768xf32>
  %q = graph.mul %w, %w : tensor<512x768xf32>
  %s = graph.reduce sum %q [1] : tensor<512x768xf32> -> tensor<512xf32>
  %f = graph.rsqrt %s : tensor<512xf32>
  return %y, %f : tensor<512x768xbf16>, tensor<512xf32>
}

// -----

// The norm's kernel reads the result again: its reduction stays there.
// WHY: not fused with graph.cast (ReductionBesideContraction
// CHECK-LABEL: func @norm
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK: graph.fusion
// CHECK:   graph.reduce sum
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @norm(%a: tensor<512x256xbf16>, %b: tensor<256x768xbf16>) -> tensor<512x768xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<512x256xbf16>, tensor<256x768xbf16> -> tensor<512x768xbf16>
  %w = graph.cast %p : tensor<512x768xbf16> -> tensor<512x768xf32>
  %q = graph.mul %w, %w : tensor<512x768xf32>
  %s = graph.reduce sum %q [1] : tensor<512x768xf32> -> tensor<512xf32>
  %f = graph.rsqrt %s : tensor<512xf32>
  %g = graph.broadcast %f [0] : tensor<512xf32> -> tensor<512x768xf32>
  %n = graph.mul %w, %g : tensor<512x768xf32>
  return %n : tensor<512x768xf32>
}

// -----

// Columns: blocks of one row of tiles do not have them. f64: no main loop.
// CHECK-LABEL: func @apart
// CHECK-COUNT-4: graph.fusion
// WHY: (ReductionBesideContraction, {{.*}} us): graph.reduce reduces beside a contraction
// WHY: reduce all columns of the product, and use the result for whole rows only
func.func @apart(%a: tensor<512x256xf16>, %b: tensor<256x768xf16>, %c: tensor<64x64xf64>) -> (tensor<512x768xf16>, tensor<768xf16>, tensor<64xf64>) {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<512x256xf16>, tensor<256x768xf16> -> tensor<512x768xf16>
  %s = graph.reduce sum %p [0] : tensor<512x768xf16> -> tensor<768xf16>
  %d = graph.contract %c, %c batch [] x [] contract [1] x [0] : tensor<64x64xf64>, tensor<64x64xf64> -> tensor<64x64xf64>
  %t = graph.reduce max %d [1] : tensor<64x64xf64> -> tensor<64xf64>
  return %p, %s, %t : tensor<512x768xf16>, tensor<768xf16>, tensor<64xf64>
}
