// Sums over rows beside what is stored for each element: the blocks of a column
// take its iterations, of a row a warp, in turn. Where nothing is stored, each
// has a run of rows.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s
// RUN: sed 's/-> (tensor<8192x4096xbf16>, /-> (/;s/return %%z, %%s : tensor<8192x4096xbf16>, /return %%s : /' %s | fusec compile - --emit=cuda --quiet | FileCheck %s --check-prefix=EACH

// CHECK: [[PART:v[0-9]+]] = (i32)cta_y();
// CHECK: [[START:v[0-9]+]] = [[PART]] * {{[0-9]+}};
// CHECK: for (i32 {{r[0-9]+}} = [[START]]; {{r[0-9]+}} < 8192; {{r[0-9]+}} += 256) {
// CHECK: st{{m?}}<8>(
// EACH: [[PART:v[0-9]+]] = (i32)cta_y();
// EACH: [[START:v[0-9]+]] = [[PART]] * [[#LENGTH:]];
// EACH: [[END:v[0-9]+]] = [[START]] + [[#LENGTH]];
// EACH: for (i32 {{r[0-9]+}} = [[START]]; {{r[0-9]+}} < v{{[0-9]+}};
func.func @main(%x: tensor<8192x4096xbf16>, %y: tensor<8192x4096xbf16>) -> (tensor<8192x4096xbf16>, tensor<4096xf32>) {
  %a = graph.cast %x : tensor<8192x4096xbf16> -> tensor<8192x4096xf32>
  %b = graph.cast %y : tensor<8192x4096xbf16> -> tensor<8192x4096xf32>
  %e = graph.erf %a : tensor<8192x4096xf32>
  %p = graph.mul %e, %b : tensor<8192x4096xf32>
  %z = graph.cast %p : tensor<8192x4096xf32> -> tensor<8192x4096xbf16>
  %s = graph.reduce sum %p [0] : tensor<8192x4096xf32> -> tensor<4096xf32>
  return %z, %s : tensor<8192x4096xbf16>, tensor<4096xf32>
}
