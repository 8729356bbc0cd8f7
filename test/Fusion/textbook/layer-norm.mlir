// Layer normalisation: mean, variance, scale and bias in one kernel that reads
// the row once.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=CUDA
// CUDA: FUSEC_KERNEL
// CUDA-COUNT-1: ld{{m?}}<8>({{.*}}, p0,
// CUDA-NOT: p0,
// CUDA-COUNT-1: stm<8>(p3,
// CUDA-NOT: FUSEC_KERNEL
func.func @f(%x: tensor<512x768xf16>, %g: tensor<768xf16>, %b: tensor<768xf16>) -> tensor<512x768xf16> {
  %r = graph.layer_norm %x, %g, %b axis = 1 epsilon = 1.0e-5 : tensor<512x768xf16>, tensor<768xf16>, tensor<768xf16>
  return %r : tensor<512x768xf16>
}
