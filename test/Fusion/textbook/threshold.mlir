// A conditional is part of the kernel's arithmetic: no mask in memory, no
// branch.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion{{.*}} -> tensor<1000xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=CUDA
// CUDA: const bool [[C:v[0-9]+]] = v{{[0-9]+}} > 0x1p-1f;
// CUDA: [[C]] ? v
// CUDA-NOT: if (
func.func @f(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %t = graph.constant dense<0.5> : tensor<1000xf32>
  %c = graph.compare gt %x, %t : tensor<1000xf32>
  %r = graph.select %c, %x, %y : tensor<1000xi1>, tensor<1000xf32>
  return %r : tensor<1000xf32>
}
