// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// The residual of a layer whose norm follows is read by the norm's kernel.
// WHY: not fused with graph.add (ReductionBesideContraction
// WHY-NOT: OutsideKernels
// CHECK-LABEL: func @post_norm
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK-NOT: graph.add
// CHECK: graph.fusion
// CHECK:   graph.add
// CHECK:   graph.reduce sum
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @post_norm(%a: tensor<4096x768xf16>, %b: tensor<768x768xf16>, %r: tensor<4096x768xf16>) -> tensor<4096x768xf16> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4096x768xf16>, tensor<768x768xf16> -> tensor<4096x768xf16>
  %s = graph.add %r, %p : tensor<4096x768xf16>
  %m = graph.reduce sum %s [1] : tensor<4096x768xf16> -> tensor<4096xf16>
  %g = graph.broadcast %m [0] : tensor<4096xf16> -> tensor<4096x768xf16>
  %y = graph.div %s, %g : tensor<4096x768xf16>
  return %y : tensor<4096x768xf16>
}

// -----

// The sum is stored for another reader, too: the norm would write it.
// CHECK-LABEL: func @pre_norm
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.add
// CHECK: graph.fusion
// CHECK-NOT: graph.add
// CHECK: return
func.func @pre_norm(%a: tensor<4096x768xf16>, %b: tensor<768x768xf16>, %r: tensor<4096x768xf16>) -> (tensor<4096x768xf16>, tensor<4096x768xf16>) {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4096x768xf16>, tensor<768x768xf16> -> tensor<4096x768xf16>
  %s = graph.add %p, %r : tensor<4096x768xf16>
  %m = graph.reduce sum %s [1] : tensor<4096x768xf16> -> tensor<4096xf16>
  %g = graph.broadcast %m [0] : tensor<4096xf16> -> tensor<4096x768xf16>
  %y = graph.div %s, %g : tensor<4096x768xf16>
  return %s, %y : tensor<4096x768xf16>, tensor<4096x768xf16>
}

// -----

// Less than a tile for each multiprocessor: nothing waits for anything.
// CHECK-LABEL: func @small
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.add
// CHECK: graph.fusion
// CHECK-NOT: graph.add
// CHECK: return
func.func @small(%a: tensor<512x768xf16>, %b: tensor<768x768xf16>, %r: tensor<512x768xf16>) -> tensor<512x768xf16> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<512x768xf16>, tensor<768x768xf16> -> tensor<512x768xf16>
  %s = graph.add %p, %r : tensor<512x768xf16>
  %m = graph.reduce sum %s [1] : tensor<512x768xf16> -> tensor<512xf16>
  %g = graph.broadcast %m [0] : tensor<512xf16> -> tensor<512x768xf16>
  %y = graph.div %s, %g : tensor<512x768xf16>
  return %y : tensor<512x768xf16>
}

// -----

// A row vector is no residual; a splat constant is not read.
// CHECK-LABEL: func @vectors
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.add
// CHECK:   graph.mul
// CHECK: graph.fusion
// CHECK-NOT: graph.mul
// CHECK: return
func.func @vectors(%a: tensor<4096x768xf16>, %b: tensor<768x768xf16>, %r: tensor<768xf16>) -> tensor<4096x768xf16> {
  %half = graph.constant dense<0.5> : tensor<4096x768xf16>
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4096x768xf16>, tensor<768x768xf16> -> tensor<4096x768xf16>
  %v = graph.broadcast %r [1] : tensor<768xf16> -> tensor<4096x768xf16>
  %t = graph.add %p, %v : tensor<4096x768xf16>
  %s = graph.mul %t, %half : tensor<4096x768xf16>
  %m = graph.reduce sum %s [1] : tensor<4096x768xf16> -> tensor<4096xf16>
  %g = graph.broadcast %m [0] : tensor<4096xf16> -> tensor<4096x768xf16>
  %y = graph.div %s, %g : tensor<4096x768xf16>
  return %y : tensor<4096x768xf16>
}

// -----

// The product takes the time of its bytes: one read more here or there.
// CHECK-LABEL: func @bytes
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.add
// CHECK: graph.fusion
// CHECK-NOT: graph.add
// CHECK: return
func.func @bytes(%a: tensor<8448x64xf16>, %b: tensor<64x256xf16>, %r: tensor<8448x256xf16>) -> tensor<8448x256xf16> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<8448x64xf16>, tensor<64x256xf16> -> tensor<8448x256xf16>
  %s = graph.add %r, %p : tensor<8448x256xf16>
  %m = graph.reduce max %s [1] : tensor<8448x256xf16> -> tensor<8448xf16>
  %g = graph.broadcast %m [0] : tensor<8448xf16> -> tensor<8448x256xf16>
  %y = graph.sub %s, %g : tensor<8448x256xf16>
  return %y : tensor<8448x256xf16>
}

// -----

// What the sum has of the product is stored for another reader anyway.
// CHECK-LABEL: func @product_returned
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK-NOT: graph.sub
// CHECK: graph.fusion
// CHECK:   graph.sub
// CHECK: return
func.func @product_returned(%a: tensor<4096x768xbf16>, %b: tensor<768x768xbf16>, %r: tensor<4096x768xbf16>) -> (tensor<4096x768xbf16>, tensor<4096x768xbf16>) {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4096x768xbf16>, tensor<768x768xbf16> -> tensor<4096x768xbf16>
  %s = graph.sub %r, %p : tensor<4096x768xbf16>
  %m = graph.reduce sum %s [1] : tensor<4096x768xbf16> -> tensor<4096xbf16>
  %g = graph.broadcast %m [0] : tensor<4096xbf16> -> tensor<4096x768xbf16>
  %y = graph.div %s, %g : tensor<4096x768xbf16>
  return %p, %y : tensor<4096x768xbf16>, tensor<4096x768xbf16>
}

// -----

// A residual of more bits than the product: what widens the product moves, too,
// so that it is stored as narrow as it is.
// CHECK-LABEL: func @wide_residual
// CHECK: graph.fusion
// CHECK-SAME: -> tensor<4096x768xf16>
// CHECK:   graph.contract
// CHECK-NOT: graph.cast
// CHECK: graph.fusion
// CHECK:   graph.cast
// CHECK:   graph.add
// CHECK:   graph.reduce sum
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @wide_residual(%a: tensor<4096x768xf16>, %b: tensor<768x768xf16>, %r: tensor<4096x768xf32>) -> tensor<4096x768xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4096x768xf16>, tensor<768x768xf16> -> tensor<4096x768xf16>
  %w = graph.cast %p : tensor<4096x768xf16> -> tensor<4096x768xf32>
  %s = graph.add %r, %w : tensor<4096x768xf32>
  %m = graph.reduce sum %s [1] : tensor<4096x768xf32> -> tensor<4096xf32>
  %g = graph.broadcast %m [0] : tensor<4096xf32> -> tensor<4096x768xf32>
  %y = graph.div %s, %g : tensor<4096x768xf32>
  return %y : tensor<4096x768xf32>
}

// -----

// The widened product has another reader.
// CHECK-LABEL: func @widened_returned
// CHECK: graph.fusion
// CHECK:   graph.contract
// CHECK:   graph.cast
// CHECK: graph.fusion
// CHECK-NOT: graph.cast
// CHECK:   graph.add
// CHECK: return
func.func @widened_returned(%a: tensor<4096x768xf16>, %b: tensor<768x768xf16>, %r: tensor<4096x768xf32>) -> (tensor<4096x768xf32>, tensor<4096x768xf32>) {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4096x768xf16>, tensor<768x768xf16> -> tensor<4096x768xf16>
  %w = graph.cast %p : tensor<4096x768xf16> -> tensor<4096x768xf32>
  %s = graph.add %r, %w : tensor<4096x768xf32>
  %m = graph.reduce sum %s [1] : tensor<4096x768xf32> -> tensor<4096xf32>
  %g = graph.broadcast %m [0] : tensor<4096xf32> -> tensor<4096x768xf32>
  %y = graph.div %s, %g : tensor<4096x768xf32>
  return %w, %y : tensor<4096x768xf32>, tensor<4096x768xf32>
}
