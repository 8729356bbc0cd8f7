// Equal regions on other values are lowered once and launched twice; another op
// makes another kernel.
// RUN: fusec compile %s --emit=tile 2>/dev/null | FileCheck %s --check-prefix=TILE
// RUN: fusec compile %s --emit=cuda 2>&1 >/dev/null | FileCheck %s --check-prefix=SUM
// RUN: fusec run %s --target=emulator --against=reference | FileCheck %s
// TILE-COUNT-2: tile.kernel
// TILE-NOT: tile.kernel
// SUM: -> 3 fused, of 2 different kernels
// CHECK: equal
func.func @main(%x: tensor<16x16xf32>, %u: tensor<16x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %1 = graph.contract %0, %v batch [] x [] contract [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %2 = graph.contract %1, %w batch [] x [] contract [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %3 = graph.tanh %2 : tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}
