// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups product-statistics" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions product-statistics" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
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

// Columns: sums of a value that is not stored, and the largest of one that is,
// with rows beside them.
// WHY: contraction kernel of {{[0-9]+}} ops, 3 inputs, 4 outputs
// CHECK-LABEL: func @columns
// CHECK: graph.fusion
// CHECK-DAG:   graph.contract
// CHECK-DAG:   graph.reduce sum {{.*}} [0]
// CHECK-DAG:   graph.reduce max {{.*}} [0]
// CHECK-DAG:   graph.reduce max {{.*}} [1]
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @columns(%a: tensor<512x256xbf16>, %b: tensor<768x256xbf16>, %x: tensor<512x768xbf16>) -> (tensor<512x768xbf16>, tensor<768xbf16>, tensor<768xf32>, tensor<512xf32>) {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [1] : tensor<512x256xbf16>, tensor<768x256xbf16> -> tensor<512x768xf32>
  %v = graph.cast %x : tensor<512x768xbf16> -> tensor<512x768xf32>
  %d = graph.mul %p, %v : tensor<512x768xf32>
  %y = graph.cast %d : tensor<512x768xf32> -> tensor<512x768xbf16>
  %s = graph.reduce sum %d [0] : tensor<512x768xf32> -> tensor<768xf32>
  %g = graph.cast %s : tensor<768xf32> -> tensor<768xbf16>
  %e = graph.abs %p : tensor<512x768xf32>
  %m = graph.reduce max %e [0] : tensor<512x768xf32> -> tensor<768xf32>
  %n = graph.reduce max %e [1] : tensor<512x768xf32> -> tensor<512xf32>
  return %y, %g, %m, %n : tensor<512x768xbf16>, tensor<768xbf16>, tensor<768xf32>, tensor<512xf32>
}

// -----

// Rows and columns of batches.
// CHECK-LABEL: func @batches
// CHECK: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @batches(%a: tensor<3x128x256xbf16>, %b: tensor<3x256x768xbf16>) -> (tensor<3x128x768xf32>, tensor<3x128xf32>, tensor<3x768xf32>, tensor<3x768xf32>) {
  %p = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<3x128x256xbf16>, tensor<3x256x768xbf16> -> tensor<3x128x768xf32>
  %r = graph.reduce sum %p [2] : tensor<3x128x768xf32> -> tensor<3x128xf32>
  %s = graph.reduce sum %p [1] : tensor<3x128x768xf32> -> tensor<3x768xf32>
  %t = graph.reduce max %p [1] : tensor<3x128x768xf32> -> tensor<3x768xf32>
  return %p, %r, %s, %t : tensor<3x128x768xf32>, tensor<3x128xf32>, tensor<3x768xf32>, tensor<3x768xf32>
}

// -----

// What each element needs of its column; a column of a million rows, whose
// states one warp would read in the end.
// WHY: (ReductionBesideContraction
// WHY: (NoProfit
// CHECK-LABEL: func @not_columns
// CHECK-COUNT-4: graph.fusion
func.func @not_columns(%a: tensor<512x256xbf16>, %b: tensor<256x768xbf16>, %c: tensor<1048576x16xbf16>, %d: tensor<16x16xbf16>) -> (tensor<512x768xf32>, tensor<1048576x16xbf16>, tensor<16xf32>) {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<512x256xbf16>, tensor<256x768xbf16> -> tensor<512x768xf32>
  %s = graph.reduce sum %p [0] : tensor<512x768xf32> -> tensor<768xf32>
  %g = graph.broadcast %s [1] : tensor<768xf32> -> tensor<512x768xf32>
  %n = graph.mul %p, %g : tensor<512x768xf32>
  %q = graph.contract %c, %d batch [] x [] contract [1] x [0] : tensor<1048576x16xbf16>, tensor<16x16xbf16> -> tensor<1048576x16xbf16>
  %w = graph.cast %q : tensor<1048576x16xbf16> -> tensor<1048576x16xf32>
  %t = graph.reduce sum %w [0] : tensor<1048576x16xf32> -> tensor<16xf32>
  return %n, %q, %t : tensor<512x768xf32>, tensor<1048576x16xbf16>, tensor<16xf32>
}

// -----

// Sums over batches, too: blocks of one column of tiles do not have them. f64:
// no main loop.
// CHECK-LABEL: func @apart
// CHECK-COUNT-4: graph.fusion
// WHY: (ReductionBesideContraction, {{.*}} us): graph.reduce reduces beside a contraction
// WHY: reduce all columns or all rows of the product, and use the result for whole rows or columns only
func.func @apart(%a: tensor<2x512x256xf16>, %b: tensor<2x256x768xf16>, %c: tensor<64x64xf64>) -> (tensor<2x512x768xf16>, tensor<768xf16>, tensor<64xf64>) {
  %p = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<2x512x256xf16>, tensor<2x256x768xf16> -> tensor<2x512x768xf16>
  %s = graph.reduce sum %p [0, 1] : tensor<2x512x768xf16> -> tensor<768xf16>
  %d = graph.contract %c, %c batch [] x [] contract [1] x [0] : tensor<64x64xf64>, tensor<64x64xf64> -> tensor<64x64xf64>
  %t = graph.reduce max %d [1] : tensor<64x64xf64> -> tensor<64xf64>
  return %p, %s, %t : tensor<2x512x768xf16>, tensor<768xf16>, tensor<64xf64>
}
