// Two five-point time steps spelt with slices of padded values: one kernel that
// keeps rows in registers.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion
// CHECK-COUNT-2: graph.pad
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// TILE-NOT: tile.alloc
// TILE: scf.for
// TILE: tile.shift
func.func @f(%x: tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
  %z = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %z low [1, 1] high [1, 1] : tensor<8192x8192xf32>, tensor<f32> -> tensor<8194x8194xf32>
  %n = graph.slice %p offsets [0, 1] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %s = graph.slice %p offsets [2, 1] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %w = graph.slice %p offsets [1, 0] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %e = graph.slice %p offsets [1, 2] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %ns = graph.add %n, %s : tensor<8192x8192xf32>
  %we = graph.add %w, %e : tensor<8192x8192xf32>
  %a = graph.add %ns, %we : tensor<8192x8192xf32>
  %q = graph.pad %a, %z low [1, 1] high [1, 1] : tensor<8192x8192xf32>, tensor<f32> -> tensor<8194x8194xf32>
  %n1 = graph.slice %q offsets [0, 1] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %s1 = graph.slice %q offsets [2, 1] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %w1 = graph.slice %q offsets [1, 0] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %e1 = graph.slice %q offsets [1, 2] strides [1, 1] : tensor<8194x8194xf32> -> tensor<8192x8192xf32>
  %ns1 = graph.add %n1, %s1 : tensor<8192x8192xf32>
  %we1 = graph.add %w1, %e1 : tensor<8192x8192xf32>
  %b = graph.add %ns1, %we1 : tensor<8192x8192xf32>
  return %b : tensor<8192x8192xf32>
}
