// (a + b) * c + (a + b) * d, the sum spelt twice: one kernel that adds a and b
// once. The text has two additions of floats, that one and the outer one.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK: graph.fusion
// CHECK: graph.add
// CHECK: graph.mul
// CHECK: graph.mul
// CHECK: graph.add
// CHECK-NOT: graph.add
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=CUDA
// CUDA-COUNT-2: const f32 v{{[0-9]+}} = v{{[0-9]+}} + v
// CUDA-NOT: const f32 v{{[0-9]+}} = v{{[0-9]+}} + v
func.func @f(%a: tensor<1024xf32>, %b: tensor<1024xf32>, %c: tensor<1024xf32>, %d: tensor<1024xf32>) -> tensor<1024xf32> {
  %s = graph.add %a, %b : tensor<1024xf32>
  %p = graph.mul %s, %c : tensor<1024xf32>
  %t = graph.add %a, %b : tensor<1024xf32>
  %q = graph.mul %t, %d : tensor<1024xf32>
  %r = graph.add %p, %q : tensor<1024xf32>
  return %r : tensor<1024xf32>
}
