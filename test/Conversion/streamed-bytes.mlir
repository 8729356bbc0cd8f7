// RUN: fusec compile %s --quiet | FileCheck %s
// RUN: fusec run %s --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT
// RUN: fusec run %s --target=emulator --exact --against=reference | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/xi8>/xui8>/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=UNSIGNED
// RUN: sed 's/xi8>/xui8>/g' %s | fusec run - --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/xi8>/xf8E4M3FN>/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=FLOAT8
// RUN: sed 's/xi8>/xf8E4M3FN>/g' %s | fusec run - --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/xi8>/xf8E5M2>/g; s/bf16/f16/g' %s | fusec run - --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/1000/1004/g' %s | fusec compile - --quiet | FileCheck %s --check-prefix=EIGHT
// RUN: sed 's/1000/1004/g' %s | fusec run - --target=emulator --against=reference | FileCheck %s --check-prefix=RIGHT

// Weights of a byte: as many in a copy as rows allow that are 1000 bytes apart.
// CHECK: kVectorB = 8;
// CHECK: GroupsB { GemmPacked<i8, 8, 8> a0; }
// CHECK: groups.a0.load(
// CHECK: groups.a0.template fields<bf16, 8, true, 0>(
// CHECK: GemmDirectConfig<GemmKind::BF16, 16, {{.*}}, 8, 1024>
// UNSIGNED: fields<bf16, 8, false, 0>(
// FLOAT8: groups.a0.template floats<bf16>(
// Rows of 1004 bytes have no copies that a span is made of.
// EIGHT-NOT: loadB
// RIGHT: equal
func.func @main(%x: tensor<9x1000xbf16>, %w: tensor<1100x1000xi8>, %s: tensor<1100x1xbf16>) -> tensor<9x1100xbf16> {
  %real = graph.cast %w : tensor<1100x1000xi8> -> tensor<1100x1000xbf16>
  %ss = graph.broadcast %s [0, 1] : tensor<1100x1xbf16> -> tensor<1100x1000xbf16>
  %scaled = graph.mul %real, %ss : tensor<1100x1000xbf16>
  %y = graph.contract %x, %scaled batch [] x [] contract [1] x [1] : tensor<9x1000xbf16>, tensor<1100x1000xbf16> -> tensor<9x1100xbf16>
  return %y : tensor<9x1100xbf16>
}
