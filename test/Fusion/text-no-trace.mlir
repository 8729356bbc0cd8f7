// Nothing of the file reaches the kernel's text: not the names of values,
// arguments, results or places, not what no output needs, not the constants
// that folded away.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK-NOT: graph.sin
// CHECK: return
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=CUDA
// CUDA: FUSEC_KERNEL(
// CUDA-NOT: {{[Xx]yzzy|[Pp]lugh|frobnicate|entry|[Dd]ead|folded|\.mlir}}
// The dead branch computes a sine and reads %plugh; 7 * 3 + 0.25 is one number.
// CUDA-NOT: m_sin
// CUDA-NOT: p2
// CUDA: 0x1.54p4f
// CUDA-NOT: 0x1.cp2f
// CUDA-NOT: 0x1.8p1f
// CUDA: FUSEC_EXPORT(
// CUDA-NOT: {{[Xx]yzzy|[Pp]lugh|frobnicate|entry|[Dd]ead|folded|\.mlir}}
func.func @entry_frobnicate(%xyzzy_input: tensor<1000xf32> {graph.name = "Xyzzy::input \"*/ #error"}, %plugh: tensor<1000xf32> {graph.name = "Plugh"})
    -> (tensor<1000xf32> {graph.name = "xyzzy_result"}) {
  %dead_sine = graph.sin %plugh : tensor<1000xf32> loc("frobnicate/dead_branch")
  %dead_sum = graph.add %dead_sine, %plugh : tensor<1000xf32>
  %folded_a = graph.constant dense<7.0> : tensor<1000xf32>
  %folded_b = graph.constant dense<3.0> : tensor<1000xf32>
  %folded_c = graph.constant dense<0.25> : tensor<1000xf32>
  %folded_ab = graph.mul %folded_a, %folded_b : tensor<1000xf32>
  %folded_abc = graph.add %folded_ab, %folded_c : tensor<1000xf32>
  %temporary_frobnicate = graph.add %xyzzy_input, %folded_abc : tensor<1000xf32> loc("frobnicate/*/xyzzy")
  %xyzzy = graph.exp %temporary_frobnicate : tensor<1000xf32> loc("xyzzy.onnx":12:34)
  return %xyzzy : tensor<1000xf32>
}
