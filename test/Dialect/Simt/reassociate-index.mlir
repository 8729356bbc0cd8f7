// RUN: fusec-opt %s --fusec-simt-reassociate-index --loop-invariant-code-motion | FileCheck %s

// What no loop changes is summed apart from what the loop variable adds, so it
// moves out of the loop.
// CHECK-LABEL: simt.kernel @address
// CHECK: %[[LANE:.*]] = simt.lane
// CHECK: %[[FIXED:.*]] = arith.muli %[[LANE]], %{{.*}}
// CHECK: scf.for %[[R:.*]] =
// CHECK: %[[MOVING:.*]] = arith.muli %[[R]], %{{.*}}
// CHECK: %[[AT:.*]] = arith.addi %[[FIXED]], %[[MOVING]]
// CHECK: simt.load 1 %{{.*}}[%[[AT]]]
simt.kernel @address(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<8xf32>
  scf.for %r = %c0 to %c8 step %c1 {
    %row = arith.addi %r, %lane : index
    %at = arith.muli %row, %c64 : index
    simt.load 1 %a[%at], %regs[%r] : memref<?xf32>, memref<8xf32>
  }
  simt.store 1 %regs[%c0], %b[%lane] : memref<8xf32>, memref<?xf32>
}
