// RUN: fusec-opt %s --fusec-simt-reassociate-index --loop-invariant-code-motion | FileCheck %s
// RUN: fusec-opt %s --fusec-simt-reassociate-index --canonicalize | FileCheck %s --check-prefix=CLEAN

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

// A quotient of multiples is no division, one of other sums stays.
// CLEAN-LABEL: simt.kernel @quotients
// CLEAN-NOT: arith.divui
// CLEAN: memref.store
// CLEAN: arith.divui %{{.*}}, %c8
// CLEAN-NOT: arith.divui
simt.kernel @quotients(%b: memref<?xf32>) attributes {threads = 64 : i64, readOnly = 0 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %at = memref.alloca() : memref<2xindex>
  %regs = memref.alloca() : memref<1xf32>
  %lane = simt.lane : index
  %warp = simt.warp : index
  %x = arith.muli %lane, %c64 : index
  %y = arith.muli %warp, %c8 : index
  %xy = arith.addi %x, %y : index
  %q = arith.divui %xy, %c8 : index
  memref.store %q, %at[%c0] : memref<2xindex>
  %u = arith.muli %lane, %c3 : index
  %v = arith.addi %u, %warp : index
  %w = arith.divui %v, %c8 : index
  memref.store %w, %at[%c1] : memref<2xindex>
  %first = memref.load %at[%c0] : memref<2xindex>
  simt.store 1 %regs[%c0], %b[%first] : memref<1xf32>, memref<?xf32>
}

// Sums of data are no indices.
// CLEAN-LABEL: simt.kernel @data
// CLEAN: %[[SUM:.*]] = arith.addi %{{.*}} : i32
// CLEAN: arith.divui %[[SUM]], %{{.*}} : i32
simt.kernel @data(%a: memref<?xi32>, %b: memref<?xi32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : i32
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<1xi32>
  simt.load 1 %a[%lane], %regs[%c0] : memref<?xi32>, memref<1xi32>
  %x = memref.load %regs[%c0] : memref<1xi32>
  %rest = arith.remui %x, %c8 : i32
  %quotient = arith.divui %x, %c8 : i32
  %multiple = arith.muli %quotient, %c8 : i32
  %sum = arith.addi %multiple, %rest : i32
  %again = arith.divui %sum, %c8 : i32
  memref.store %again, %regs[%c0] : memref<1xi32>
  simt.store 1 %regs[%c0], %b[%lane] : memref<1xi32>, memref<?xi32>
}

// Neighbours share a remainder: what is too much by the divisor wraps without.
// CHECK-LABEL: simt.kernel @neighbours
// CHECK: scf.for %[[R:.*]] =
// CHECK: %[[D:.*]] = arith.remui %[[R]], %
// CHECK: %[[BASE:.*]] = arith.remui %{{.*}}, %c8191
// CHECK: arith.addi %[[BASE]], %[[D]]
// CHECK: %[[LESS:.*]] = arith.addi %{{.*}}, %c-8191
// CHECK: arith.minui %{{.*}}, %[[LESS]]
// CHECK-NOT: minui
// CHECK: arith.remui %{{.*}}, %c4096
simt.kernel @neighbours(%a: memref<?xf32>, %b: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %c4096 = arith.constant 4096 : index
  %c8191 = arith.constant 8191 : index
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<32xf32>
  scf.for %r = %c0 to %c32 step %c1 {
    %d = arith.remui %r, %c8 : index
    %q = arith.divui %r, %c8 : index
    %far = arith.muli %q, %c256 : index
    %past = arith.addi %d, %far : index
    %i = arith.addi %lane, %past : index
    %odd = arith.remui %i, %c8191 : index
    simt.load 1 %a[%odd], %regs[%r] : memref<?xf32>, memref<32xf32>
    %even = arith.remui %i, %c4096 : index
    simt.load 1 %a[%even], %regs[%r] : memref<?xf32>, memref<32xf32>
  }
  simt.store 1 %regs[%c0], %b[%lane] : memref<32xf32>, memref<?xf32>
}
