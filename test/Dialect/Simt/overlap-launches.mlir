// RUN: fusec-opt %s --fusec-simt-overlap-launches --split-input-file | FileCheck %s
// RUN: fusec-opt %s --fusec-simt-overlap-launches --fusec-simt-overlap-launches --split-input-file | FileCheck %s

// Where the thread is comes first; then the wait, once.
// CHECK-LABEL: simt.kernel @copy
// CHECK: simt.lane
// CHECK: simt.shared
// CHECK: memref.alloca
// CHECK-NEXT: simt.grid_wait
// CHECK-NEXT: simt.load
// CHECK-NOT: simt.grid_wait
simt.kernel @copy(%x: memref<?xf32>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %lane = simt.lane : index
  %s = simt.shared : memref<32xf32, 3>
  %regs = memref.alloca() : memref<1xf32>
  simt.load 1 %x[%lane], %regs[%c0] : memref<?xf32>, memref<1xf32>
  simt.store 1 %regs[%c0], %y[%lane] : memref<1xf32>, memref<?xf32>
}

// -----

// All threads wait, also those that have nothing to do.
// CHECK-LABEL: simt.kernel @branch
// CHECK: arith.cmpi
// CHECK-NEXT: simt.grid_wait
// CHECK-NEXT: scf.if
// CHECK-NOT: simt.grid_wait
simt.kernel @branch(%y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 0 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<1xf32>
  %some = arith.cmpi slt, %lane, %c5 : index
  scf.if %some {
    simt.store 1 %regs[%c0], %y[%lane] : memref<1xf32>, memref<?xf32>
  }
}

// -----

// What touches nothing ends behind what it follows.
// CHECK-LABEL: simt.kernel @nothing
// CHECK: simt.lane
// CHECK-NEXT: simt.grid_wait
// CHECK-NEXT: }
simt.kernel @nothing(%y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 0 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %lane = simt.lane : index
}

// -----

// Blocks that meet begin together.
// CHECK-LABEL: simt.kernel @together
// CHECK-NOT: simt.grid_wait
simt.kernel @together(%w: memref<?xi32>) attributes {threads = 32 : i64, readOnly = 0 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  simt.grid_barrier %w resident 1 : memref<?xi32>
}
