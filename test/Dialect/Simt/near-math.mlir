// RUN: fusec-opt %s --fusec-simt-near-math --split-input-file | FileCheck %s

// The sums cancel for negative x; what stands for them does not.
// CHECK-LABEL: simt.kernel @gelu
// CHECK: %[[MINUS:.*]] = arith.negf
// CHECK: %[[ERFC:.*]] = math.erfc %[[MINUS]]
// CHECK: arith.mulf %{{.*}}, %[[ERFC]]
// CHECK: %[[TWICE:.*]] = arith.mulf %{{.*}}, %{{.*}}
// CHECK: %[[POWER:.*]] = math.exp2 %[[TWICE]]
// CHECK: %[[DIVISOR:.*]] = arith.addf %[[POWER]], %{{.*}}
// CHECK: %[[SUM:.*]] = arith.divf %{{.*}}, %[[DIVISOR]] fastmath<arcp,contract,afn>
// CHECK: arith.mulf %{{.*}}, %[[SUM]]
// CHECK-NOT: math.erf %
// CHECK-NOT: math.tanh
simt.kernel @gelu(%x: memref<?xf32>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<1xf32>
  simt.load 1 %x[%lane], %regs[%c0] : memref<?xf32>, memref<1xf32>
  %v = memref.load %regs[%c0] : memref<1xf32>
  %erf = math.erf %v fastmath<contract,afn> : f32
  %s0 = arith.addf %erf, %one fastmath<contract,afn> : f32
  %r0 = arith.mulf %v, %s0 fastmath<contract,afn> : f32
  %tanh = math.tanh %r0 fastmath<contract,afn> : f32
  %s1 = arith.addf %one, %tanh fastmath<contract,afn> : f32
  %r1 = arith.mulf %v, %s1 fastmath<contract,afn> : f32
  memref.store %r1, %regs[%c0] : memref<1xf32>
  simt.store 1 %regs[%c0], %y[%lane] : memref<1xf32>, memref<?xf32>
}

// -----

// x + c x^3 before tanh takes factors into its constants, and nothing stays of
// what stood there.
// CHECK-LABEL: simt.kernel @gelu_tanh
// CHECK: %[[V:.*]] = memref.load
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[V]], %[[V]]
// CHECK-NOT: arith.mulf
// CHECK: %[[SLOPE:.*]] = math.fma %[[SQUARE]], %{{.*}}, %{{.*}}
// CHECK-NEXT: %[[T:.*]] = arith.mulf %[[V]], %[[SLOPE]]
// CHECK-NEXT: %[[E:.*]] = math.exp2 %[[T]]
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[E]], %{{.*}}
// CHECK: %[[S:.*]] = arith.divf %{{.*}}, %[[D]]
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[V]], %[[S]]
// CHECK-NEXT: memref.store %[[R]]
simt.kernel @gelu_tanh(%x: memref<?xf32>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %c = arith.constant 0.044715 : f32
  %f = arith.constant 0.797884583 : f32
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<1xf32>
  simt.load 1 %x[%lane], %regs[%c0] : memref<?xf32>, memref<1xf32>
  %v = memref.load %regs[%c0] : memref<1xf32>
  %h = arith.mulf %v, %half fastmath<contract,afn> : f32
  %v2 = arith.mulf %v, %v fastmath<contract,afn> : f32
  %v3 = arith.mulf %v2, %v fastmath<contract,afn> : f32
  %p = arith.mulf %v3, %c fastmath<contract,afn> : f32
  %s = arith.addf %v, %p fastmath<contract,afn> : f32
  %a = arith.mulf %s, %f fastmath<contract,afn> : f32
  %t = math.tanh %a fastmath<contract,afn> : f32
  %u = arith.addf %one, %t fastmath<contract,afn> : f32
  %r = arith.mulf %h, %u fastmath<contract,afn> : f32
  memref.store %r, %regs[%c0] : memref<1xf32>
  simt.store 1 %regs[%c0], %y[%lane] : memref<1xf32>, memref<?xf32>
}

// -----

// What casts and sums read: 1 + erf(x) comes from exp(-x^2), which moves up;
// not from another power, nor where nothing says that it may.
// CHECK-LABEL: simt.kernel @slope
// CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: %[[POWER:.*]] = math.exp
// CHECK: %[[SUM:.*]] = simt.one_plus_erf %[[X]], %[[POWER]] : f32
// CHECK: arith.mulf %[[SUM]], %[[POWER]]
// CHECK: %[[ERF:.*]] = math.erf %[[V:.*]] : f32
// CHECK: arith.addf %[[ERF]],
// CHECK: %[[OTHER:.*]] = math.erf %{{.*}} fastmath<afn>
// CHECK: arith.addf %[[OTHER]],
simt.kernel @slope(%x: memref<?xf32>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.707106769 : f32
  %half = arith.constant -0.5 : f32
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<1xf32>
  simt.load 1 %x[%lane], %regs[%c0] : memref<?xf32>, memref<1xf32>
  %v = memref.load %regs[%c0] : memref<1xf32>
  %z = arith.mulf %v, %root : f32
  %erf = math.erf %z fastmath<afn> : f32
  %sum = arith.addf %erf, %one : f32
  %square = arith.mulf %v, %v : f32
  %minus = arith.mulf %square, %half : f32
  %power = math.exp %minus fastmath<afn> : f32
  %r0 = arith.mulf %sum, %power : f32
  %plain = math.erf %z : f32
  %r1 = arith.addf %plain, %one : f32
  %far = math.erf %r0 fastmath<afn> : f32
  %r2 = arith.addf %far, %r1 : f32
  %r3 = arith.addf %far, %one : f32
  %r4 = arith.mulf %r2, %r3 : f32
  memref.store %r4, %regs[%c0] : memref<1xf32>
  simt.store 1 %regs[%c0], %y[%lane] : memref<1xf32>, memref<?xf32>
}

// -----

// A product and a sum in one op; unmarked arithmetic stays.
// CHECK-LABEL: simt.kernel @fma
// CHECK: math.fma
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: arith.addf
simt.kernel @fma(%x: memref<?xf32>, %y: memref<?xf32>) attributes {threads = 32 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>, wideOffsets = false} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %lane = simt.lane : index
  %regs = memref.alloca() : memref<1xf32>
  simt.load 1 %x[%lane], %regs[%c0] : memref<?xf32>, memref<1xf32>
  %v = memref.load %regs[%c0] : memref<1xf32>
  %p = arith.mulf %v, %v fastmath<contract,afn> : f32
  %s = arith.addf %p, %one fastmath<contract,afn> : f32
  %t = math.tanh %s : f32
  %u = arith.addf %t, %one : f32
  %q = arith.mulf %u, %v : f32
  %w = arith.addf %q, %one : f32
  memref.store %w, %regs[%c0] : memref<1xf32>
  simt.store 1 %regs[%c0], %y[%lane] : memref<1xf32>, memref<?xf32>
}
