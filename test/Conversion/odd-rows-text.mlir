// Rows of 4097 start anywhere in a vector: whole vectors of memory without a
// mask but in the last chunk, and one element a thread for the ends of the row.
// RUN: fusec compile %s --quiet | FileCheck %s
// RUN: sed 's/4097/65535/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=KEPT
// A view with longer rows is read element by element.
// RUN: fusec compile %S/Inputs/odd-rows-view.mlir --quiet | FileCheck %s --check-prefix=VIEW

// CHECK: v{{[0-9]+}} * 4097;
// CHECK: ldm<1>(
// CHECK: ld<8>(
// CHECK: ldm<8>(
// CHECK-NOT: ld<
// CHECK-NOT: ldm<
// CHECK: stm<8>(p1,
// CHECK: stm<8>(p1,
// CHECK: stm<1>(p1,
// CHECK-NOT: stm<
// KEPT: cp_async16({{.*}}, true);
// KEPT: cp_async_commit();
// KEPT: cp_async16({{.*}}, true);
// KEPT: cp_async16({{.*}}, v{{[0-9]+}});
// KEPT: lds<8>(
// KEPT-NOT: ld<{{[0-9]}}>({{.*}}, p0,
// KEPT: stm<8>(p1,
// VIEW-NOT: ld<8>
// VIEW-NOT: ldm<8>
func.func @main(%x: tensor<8192x4097xbf16>) -> tensor<8192x4097xbf16> {
  %y = graph.softmax %x [1] : tensor<8192x4097xbf16>
  return %y : tensor<8192x4097xbf16>
}
