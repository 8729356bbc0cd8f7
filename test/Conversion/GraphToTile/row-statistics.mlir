// RUN: fusec-opt %s --test-graph-to-tile --canonicalize --cse --split-input-file | FileCheck %s

// The sum of squares of a product's rows in its kernel: the epilogue returns
// the state of its columns, of the elements as they are stored; the first region says where
// states start, the next one adds two, and the last one stores what the last block of a
// row makes of the whole. States of 130 rows and the counters of their tiles are
// scratch.
// CHECK-LABEL: tile.kernel @kernel0
// CHECK-SAME: %[[Y:arg3]]: memref<?xf16>, %[[F:arg4]]: memref<?xf32>, %[[STATES:arg5]]: memref<?xf32>, %[[COUNTERS:arg6]]: memref<?xi32>
// CHECK-SAME: scratch = array<i64: 260, 9>
// CHECK: tile.contract
// CHECK-SAME: states %[[STATES]] : memref<?xf32> counters %[[COUNTERS]] : memref<?xi32>
// CHECK: } epilogue {
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} fastmath<contract,afn> : tensor<4xf32
// CHECK: %[[HALF:.*]] = arith.truncf %[[SUM]]
// CHECK: tile.store %[[HALF]], %[[Y]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[HALF]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[WIDE]], %[[WIDE]]
// CHECK: %[[STATE:.*]] = tile.reduce %[[SQUARE]] axes [0]
// CHECK: tile.yield %[[STATE]]
// CHECK: } statistics({
// CHECK-NEXT: tile.yield %{{.*}} : f32
// CHECK: }, {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: tile.yield %[[BOTH]]
// CHECK: }, {
// CHECK: ^bb0(%{{.*}}: index, %[[ROW:.*]]: index, %[[WHOLE:.*]]: tensor<1xf32
// CHECK: %[[AT:.*]] = tile.splat %[[ROW]]
// CHECK: %[[R:.*]] = math.rsqrt %[[WHOLE]]
// CHECK: tile.store %[[R]], %[[F]][%[[AT]]]
// CHECK: tile.yield
func.func @squares(%a: tensor<130x64xf16>, %b: tensor<64x72xf16>, %r: tensor<130x72xf16>) -> (tensor<130x72xf16>, tensor<130xf32>) {
  %0:2 = graph.fusion(%x = %a, %w = %b, %q = %r) : (tensor<130x64xf16>, tensor<64x72xf16>, tensor<130x72xf16>) -> (tensor<130x72xf16>, tensor<130xf32>) {
    %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<130x64xf16>, tensor<64x72xf16> -> tensor<130x72xf16>
    %y = graph.add %p, %q : tensor<130x72xf16>
    %c = graph.cast %y : tensor<130x72xf16> -> tensor<130x72xf32>
    %m = graph.mul %c, %c : tensor<130x72xf32>
    %s = graph.reduce sum %m [1] : tensor<130x72xf32> -> tensor<130xf32>
    %f = graph.rsqrt %s : tensor<130xf32>
    graph.yield %y, %f : tensor<130x72xf16>, tensor<130xf32>
  }
  return %0#0, %0#1 : tensor<130x72xf16>, tensor<130xf32>
}

// -----

// Columns in eights do not divide 70: those behind the end are the least number
// for a maximum, -inf, not what the product has there.
// CHECK-LABEL: tile.kernel
// CHECK: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[NONES:.*]] = arith.constant dense<0xFF800000> : tensor<8xf32
// CHECK: } epilogue {
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt
// CHECK: %[[STATE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %[[NONES]]
// CHECK: tile.reduce %[[STATE]] axes [0]
// CHECK: } statistics({
// CHECK-NEXT: tile.yield %[[NONE]]
// CHECK: }, {
func.func @largest(%a: tensor<130x64xf32>, %b: tensor<64x70xf32>) -> (tensor<130x70xf32>, tensor<130xf32>) {
  %0:2 = graph.fusion(%x = %a, %w = %b) : (tensor<130x64xf32>, tensor<64x70xf32>) -> (tensor<130x70xf32>, tensor<130xf32>) {
    %p = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<130x64xf32>, tensor<64x70xf32> -> tensor<130x70xf32>
    %s = graph.reduce max %p [1] : tensor<130x70xf32> -> tensor<130xf32>
    graph.yield %p, %s : tensor<130x70xf32>, tensor<130xf32>
  }
  return %0#0, %0#1 : tensor<130x70xf32>, tensor<130xf32>
}
