// An f32 value that is cast to 16 bits and summed besides: exp is off by one
// more rounding of its operand, and 1 + erf comes from it. Of few addends, and
// of what is stored in f32, it is not.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: sed 's/256x/64x/g' %s | fusec compile - --emit=cuda --quiet | FileCheck %s --check-prefix=FEW
// RUN: fusec compile %s --emit=cuda --quiet --exact | FileCheck %s --check-prefix=FEW
// RUN: sed 's/-> (tensor<256x512xbf16>/-> (tensor<256x512xf32>/;s/return %%stored, %%bias : tensor<256x512xbf16>/return %%dx, %%bias : tensor<256x512xf32>/' %s | fusec compile - --emit=cuda --quiet | FileCheck %s --check-prefix=FEW

// CHECK: [[POWER:v[0-9]+]] = m_exp_part(
// CHECK: m_one_plus_erf({{.*}}, [[POWER]])
// CHECK-NOT: m_erf(
// CHECK-NOT: m_exp(
// FEW: m_erf(
// FEW: m_exp(
// FEW-NOT: m_one_plus_erf(
func.func @main(%x: tensor<256x512xbf16>, %dy: tensor<256x512xbf16>) -> (tensor<256x512xbf16>, tensor<512xf32>) {
  %root = graph.constant dense<0.707106769> : tensor<256x512xf32>
  %half = graph.constant dense<0.5> : tensor<256x512xf32>
  %minus = graph.constant dense<-0.5> : tensor<256x512xf32>
  %one = graph.constant dense<1.0> : tensor<256x512xf32>
  %w = graph.cast %x : tensor<256x512xbf16> -> tensor<256x512xf32>
  %g = graph.cast %dy : tensor<256x512xbf16> -> tensor<256x512xf32>
  %z = graph.mul %w, %root : tensor<256x512xf32>
  %erf = graph.erf %z : tensor<256x512xf32>
  %sum = graph.add %erf, %one : tensor<256x512xf32>
  %phi = graph.mul %sum, %half : tensor<256x512xf32>
  %square = graph.mul %w, %w : tensor<256x512xf32>
  %y = graph.mul %square, %minus : tensor<256x512xf32>
  %power = graph.exp %y : tensor<256x512xf32>
  %density = graph.mul %w, %power : tensor<256x512xf32>
  %slope = graph.add %phi, %density : tensor<256x512xf32>
  %dx = graph.mul %g, %slope : tensor<256x512xf32>
  %stored = graph.cast %dx : tensor<256x512xf32> -> tensor<256x512xbf16>
  %bias = graph.reduce sum %dx [0] : tensor<256x512xf32> -> tensor<512xf32>
  return %stored, %bias : tensor<256x512xbf16>, tensor<512xf32>
}
