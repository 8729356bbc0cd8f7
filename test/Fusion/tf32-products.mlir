// RUN: fusec compile %s --quiet --emit=fused | FileCheck %s --check-prefix=FUSED
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=TEXT
// RUN: fusec compile %s --quiet --arch=sm_80 | FileCheck %s --check-prefix=SM80

// Warpgroups multiply TF32 along k alone, and nothing but the copy engine rounds
// on the way: what lies across k is transposed by a kernel of its own.
// FUSED: graph.fusion
// FUSED-NEXT: graph.transpose
// FUSED-NEXT: graph.yield
// FUSED: graph.fusion
// FUSED: graph.contract {{.*}} contract [1] x [1] {allowTf32 = true}
// FUSED-NOT: graph.fusion
// TEXT: kAccessA = GemmAccess::Tensor
// TEXT: kAccessB = GemmAccess::Tensor
// TEXT: GemmWgmmaConfig<GemmKind::TF32,
// SM80: GemmConfig<GemmKind::TF32,
func.func @main(%a: tensor<2048x1024xf32>, %w: tensor<1024x2048xf32>, %bias: tensor<2048xf32>) -> tensor<2048x2048xf32> {
  %c = graph.contract %a, %w batch [] x [] contract [1] x [0] {allowTf32 = true}
      : tensor<2048x1024xf32>, tensor<1024x2048xf32> -> tensor<2048x2048xf32>
  %b = graph.broadcast %bias [1] : tensor<2048xf32> -> tensor<2048x2048xf32>
  %r = graph.add %c, %b : tensor<2048x2048xf32>
  return %r : tensor<2048x2048xf32>
}
