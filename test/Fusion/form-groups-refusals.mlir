// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Two axes of three: the second reduction goes to a kernel of its own.
// WHY: not fused with graph.{{.*}} (ReductionAxesDiffer, {{.*}} us): graph.reduce reduces axes [{{.}}] of its operand where the kernel's longest reduction reduces [{{.}}]
// WHY: to allow it: reduce the same axes
// CHECK-LABEL: func @axes_differ
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @axes_differ(%x: tensor<8x64x32xf32>) -> (tensor<8x64xf32>, tensor<8x32xf32>) {
  %e = graph.pow %x, %x : tensor<8x64x32xf32>
  %r = graph.reduce sum %e [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
  %c = graph.reduce sum %e [1] : tensor<8x64x32xf32> -> tensor<8x32xf32>
  return %r, %c : tensor<8x64xf32>, tensor<8x32xf32>
}

// -----

// Rows and columns of one matrix, of more columns than a block has registers
// for.
// WHY: (ColumnAccumulators, {{.*}} us): graph.reduce sums columns, and registers of one block do not hold the sums and rows of 50000 elements
// CHECK-LABEL: func @long_rows
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @long_rows(%x: tensor<64x50000xf32>) -> (tensor<64xf32>, tensor<50000xf32>) {
  %e = graph.pow %x, %x : tensor<64x50000xf32>
  %r = graph.reduce sum %e [1] : tensor<64x50000xf32> -> tensor<64xf32>
  %c = graph.reduce sum %e [0] : tensor<64x50000xf32> -> tensor<50000xf32>
  return %r, %c : tensor<64xf32>, tensor<50000xf32>
}

// -----

// What rows need of columns waits for all rows.
// CHECK-LABEL: func @columns_in_rows
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @columns_in_rows(%x: tensor<64x300xf32>) -> (tensor<64xf32>, tensor<64x300xf32>) {
  %r = graph.reduce sum %x [1] : tensor<64x300xf32> -> tensor<64xf32>
  %c = graph.reduce sum %x [0] : tensor<64x300xf32> -> tensor<300xf32>
  %b = graph.broadcast %c [1] : tensor<300xf32> -> tensor<64x300xf32>
  %y = graph.mul %x, %b : tensor<64x300xf32>
  return %r, %y : tensor<64xf32>, tensor<64x300xf32>
}

// -----

// A sum of sums over another axis.
// WHY: ReductionAxesDiffer
// CHECK-LABEL: func @reduce_twice
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @reduce_twice(%x: tensor<8x64x32xf32>) -> tensor<8xf32> {
  %a = graph.reduce sum %x [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
  %b = graph.reduce max %a [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// The row sum is broadcast along the wrong axis: every thread would need all.
// WHY: (IndexMixesReducedAxes, {{.*}} us): the result of graph.reduce is read at an index that depends on the reduced axes
// CHECK-LABEL: func @mixes
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @mixes(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = graph.reduce sum %x [1] : tensor<64x64xf32> -> tensor<64xf32>
  %b = graph.broadcast %s [1] : tensor<64xf32> -> tensor<64x64xf32>
  %r = graph.mul %x, %b : tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Rows that meet their mirror image.
// WHY: (ReadsAnotherRow, {{.*}} us): the result of graph.reduce is read in another row
// WHY: to allow it: move the slice, reverse or transpose before the reduction
// CHECK-LABEL: func @mirror
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @mirror(%x: tensor<64x1000xf32>) -> tensor<64xf32> {
  %s = graph.reduce sum %x [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %f = graph.slice %s offsets [63] strides [-1] : tensor<64xf32> -> tensor<64xf32>
  %r = graph.add %s, %f : tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// A gather by data from a reduction's result.
// WHY: IndexMixesReducedAxes
// CHECK-LABEL: func @gather_of_sums
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @gather_of_sums(%x: tensor<64x1000xf32>, %i: tensor<64xi32>) -> tensor<64xf32> {
  %s = graph.reduce sum %x [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %r = graph.gather %s, %i axis = 0 : tensor<64xf32>, tensor<64xi32> -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// WHY: (SecondContraction, {{.*}} us): graph.contract is a second contraction
// CHECK-LABEL: func @two_products
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @two_products(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %q = graph.contract %p, %c batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %q : tensor<64x64xf32>
}

// -----

// WHY: (ReductionBesideContraction, {{.*}} us): graph.reduce reduces beside a contraction
// CHECK-LABEL: func @product_and_sum
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @product_and_sum(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %s = graph.reduce max %p [1] : tensor<64x64xf32> -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

// WHY: (OpaqueOp, {{.*}} us): graph.cumulative is a kernel of its own
// CHECK-LABEL: func @prefix_sum
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @prefix_sum(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = graph.exp %a : tensor<64x64xf32>
  %s = graph.cumulative sum %e dimension = 1 : tensor<64x64xf32>
  return %s : tensor<64x64xf32>
}

// -----

// WHY: (WindowBesideReduction, {{.*}} us): graph.window_reduce is a sliding window
// CHECK-LABEL: func @pool_then_sum
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @pool_then_sum(%x: tensor<64x64xf32>) -> tensor<64xf32> {
  %p = graph.window_reduce max %x window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1]
      : tensor<64x64xf32> -> tensor<64x64xf32>
  %s = graph.reduce sum %p [1] : tensor<64x64xf32> -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

// Large windows: the halo would be most of the work.
// WHY: (HaloTooLarge, {{.*}} us): tiles of graph.window_reduce grow {{.*}} times by their halo
// CHECK-LABEL: func @large_windows
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @large_windows(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %a = graph.window_reduce sum %x window [41, 41] strides [1, 1] dilations [1, 1] low [20, 20] high [20, 20]
      : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %b = graph.window_reduce max %a window [41, 41] strides [1, 1] dilations [1, 1] low [20, 20] high [20, 20]
      : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  return %b : tensor<1024x1024xf32>
}

// -----

// Half of an element-wise result leaves: another iteration space.
// WHY: (OutputShapesDiffer, {{.*}} us): a result of graph.{{.*}} has shape
// CHECK-LABEL: func @half
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @half(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x32xf32>) {
  %e = graph.exp %x : tensor<64x64xf32>
  %h = graph.slice %e offsets [0, 0] strides [1, 1] : tensor<64x64xf32> -> tensor<64x32xf32>
  %n = graph.neg %h : tensor<64x32xf32>
  return %e, %n : tensor<64x64xf32>, tensor<64x32xf32>
}
