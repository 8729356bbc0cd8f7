// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups horizontal" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions horizontal" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Small independent kernels of different shapes share one launch.
// WHY: multi kernel of 4 ops, 3 inputs, 3 outputs
// WHY: part of a launch: pointwise of 1 ops
// WHY: part of a launch: row of 2 ops
// WHY: part of a launch: pointwise of 1 ops
// CHECK-LABEL: func @side_by_side
// CHECK-COUNT-4: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @side_by_side(%x: tensor<100xf32>, %y: tensor<30x7xf32>, %z: tensor<5xf32>) -> (tensor<100xf32>, tensor<30xf32>, tensor<5xf32>) {
  %a = graph.exp %x : tensor<100xf32>
  %n = graph.neg %y : tensor<30x7xf32>
  %b = graph.reduce sum %n [1] : tensor<30x7xf32> -> tensor<30xf32>
  %c = graph.exp %z : tensor<5xf32>
  return %a, %b, %c : tensor<100xf32>, tensor<30xf32>, tensor<5xf32>
}

// -----

// A consumer cannot share the launch of its producer, large kernels gain
// nothing, contractions have launches of their own.
// WHY-DAG: alone in its launch (NothingBeside): no other small kernel is independent of this one
// WHY-DAG: alone in its launch (FillsTheMachine): the kernel works for {{.*}} us by itself, longer than a launch takes
// WHY-DAG: alone in its launch (LaunchOfItsOwn): the kernel of graph.contract has a block size and shared memory of its own
// CHECK-LABEL: func @apart
// CHECK-COUNT-4: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @apart(%x: tensor<100x10xf32>, %y: tensor<40000x4000xf32>, %l: tensor<64x64xf16>) -> (tensor<10xf32>, tensor<40000x4000xf32>, tensor<64x64xf16>) {
  %a = graph.reduce sum %x [1] : tensor<100x10xf32> -> tensor<100xf32>
  %g = graph.reshape %a : tensor<100xf32> -> tensor<10x10xf32>
  %b = graph.reduce max %g [0] : tensor<10x10xf32> -> tensor<10xf32>
  %c = graph.exp %y : tensor<40000x4000xf32>
  %d = graph.contract %l, %l batch [] x [] contract [1] x [0] : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  return %b, %c, %d : tensor<10xf32>, tensor<40000x4000xf32>, tensor<64x64xf16>
}

// -----

// Kernels of one level pack level by level: two launches of two parts, in an
// order where producers come first.
// WHY: multi kernel of 6 ops, 2 inputs, 2 outputs
// WHY: multi kernel of 2 ops, 2 inputs, 2 outputs
// CHECK-LABEL: func @levels
// CHECK: %[[FIRST:.*]]:2 = graph.fusion
// CHECK: graph.fusion
// CHECK: graph.fusion
// CHECK: graph.yield
// CHECK: graph.fusion(%{{.*}} = %[[FIRST]]#0, %{{.*}} = %[[FIRST]]#1)
func.func @levels(%x: tensor<100x10xf32>, %y: tensor<90x10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %0 = graph.reduce sum %x [1] : tensor<100x10xf32> -> tensor<100xf32>
  %1 = graph.exp %0 : tensor<100xf32>
  %2 = graph.reshape %1 : tensor<100xf32> -> tensor<10x10xf32>
  %3 = graph.reduce max %2 [0] : tensor<10x10xf32> -> tensor<10xf32>
  %4 = graph.reduce sum %y [1] : tensor<90x10xf32> -> tensor<90xf32>
  %5 = graph.exp %4 : tensor<90xf32>
  %6 = graph.reshape %5 : tensor<90xf32> -> tensor<9x10xf32>
  %7 = graph.reduce max %6 [0] : tensor<9x10xf32> -> tensor<10xf32>
  return %3, %7 : tensor<10xf32>, tensor<10xf32>
}

// -----

// Readers of one value with equal loops are one kernel of several outputs: the
// value is read once.
// WHY: pointwise kernel of 2 ops, 1 inputs, 2 outputs
// CHECK-LABEL: func @same_input
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @same_input(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
  %a = graph.exp %x : tensor<1000xf32>
  %b = graph.neg %x : tensor<1000xf32>
  return %a, %b : tensor<1000xf32>, tensor<1000xf32>
}

// -----

// The same for rows.
// WHY: row kernel of 4 ops, 1 inputs, 2 outputs
// CHECK-LABEL: func @same_rows
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @same_rows(%x: tensor<30x70xf32>) -> (tensor<30xf32>, tensor<30xf32>) {
  %a = graph.exp %x : tensor<30x70xf32>
  %b = graph.reduce sum %a [1] : tensor<30x70xf32> -> tensor<30xf32>
  %c = graph.neg %x : tensor<30x70xf32>
  %d = graph.reduce max %c [1] : tensor<30x70xf32> -> tensor<30xf32>
  return %b, %d : tensor<30xf32>, tensor<30xf32>
}

// -----

// Constants in the text are read by nobody: streams that have no more in common
// are parts of one launch, whatever their number and shape.
// WHY: multi kernel of 6 ops, 2 inputs, 2 outputs
// CHECK-LABEL: func @same_constant
// CHECK-COUNT-3: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @same_constant(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
  %half = graph.constant dense<0.5> : tensor<1000xf32>
  %p = graph.exp %x : tensor<1000xf32>
  %a = graph.mul %p, %half : tensor<1000xf32>
  %q = graph.exp %y : tensor<1000xf32>
  %b = graph.mul %q, %half : tensor<1000xf32>
  return %a, %b : tensor<1000xf32>, tensor<1000xf32>
}
