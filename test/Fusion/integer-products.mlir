// RUN: fusec compile %s --quiet --emit=fused | FileCheck %s --check-prefix=FUSED
// RUN: fusec compile %s --quiet | FileCheck %s --check-prefix=TEXT
// RUN: fusec compile %s --quiet --arch=sm_80 | FileCheck %s --check-prefix=SM80

// A quantised product, dequantised, with an operand that is not contiguous
// along k: turning it inside the product would take longer than a kernel that
// transposes it. What surrounds the product is one kernel with it.
// FUSED: graph.fusion
// FUSED-NEXT: graph.transpose
// FUSED-NEXT: graph.yield
// FUSED: graph.fusion
// FUSED: graph.contract {{.*}} : tensor<1024x2048xui8>, tensor<2048x2048xi8> -> tensor<1024x2048xi32>
// FUSED-NOT: graph.fusion
// TEXT: const i32 (&acc)[2]
// TEXT: GemmWgmmaConfig<GemmKind::U8I8,
// SM80: GemmConfig<GemmKind::U8I8,
func.func @main(%a: tensor<1024x2048xui8>, %w: tensor<2048x2048xi8>, %s: tensor<2048xf32>) -> tensor<1024x2048xf32> {
  %a32 = graph.cast %a : tensor<1024x2048xui8> -> tensor<1024x2048xi32>
  %w32 = graph.cast %w : tensor<2048x2048xi8> -> tensor<2048x2048xi32>
  %c = graph.contract %a32, %w32 batch [] x [] contract [1] x [0]
      : tensor<1024x2048xi32>, tensor<2048x2048xi32> -> tensor<1024x2048xi32>
  %f = graph.cast %c : tensor<1024x2048xi32> -> tensor<1024x2048xf32>
  %ss = graph.broadcast %s [1] : tensor<2048xf32> -> tensor<1024x2048xf32>
  %r = graph.mul %f, %ss : tensor<1024x2048xf32>
  return %r : tensor<1024x2048xf32>
}
