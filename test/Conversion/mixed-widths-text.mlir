// A thread stores one access to each tensor, so that those of a warp fill
// sectors: four elements of f32 and the same four of bf16, not eight in two
// halves. Loads of two accesses meet in the cache, so what is stored in bf16
// alone keeps its eight.
// RUN: fusec compile %s --emit=cuda --quiet | FileCheck %s

// CHECK: FUSEC_KERNEL
// CHECK-DAG: ldm<4>({{.*}}, p1,
// CHECK-DAG: ldm<4>({{.*}}, p0,
// CHECK: stm<4>(p2,
// CHECK: stm<4>(p3,
// CHECK: FUSEC_KERNEL
// CHECK-DAG: ldm<4>({{.*}}, p1,
// CHECK-DAG: ldm<8>({{.*}}, p0,
// CHECK: stm<8>(p2,
func.func @main(%x: tensor<8388608xf32>, %y: tensor<8388608xbf16>, %u: tensor<4096x16384xf32>, %v: tensor<4096x16384xbf16>)
    -> (tensor<8388608xf32>, tensor<8388608xbf16>, tensor<4096x16384xbf16>) {
  %w = graph.cast %y : tensor<8388608xbf16> -> tensor<8388608xf32>
  %s = graph.mul %x, %w : tensor<8388608xf32>
  %c = graph.cast %s : tensor<8388608xf32> -> tensor<8388608xbf16>
  %n = graph.cast %v : tensor<4096x16384xbf16> -> tensor<4096x16384xf32>
  %m = graph.mul %u, %n : tensor<4096x16384xf32>
  %d = graph.cast %m : tensor<4096x16384xf32> -> tensor<4096x16384xbf16>
  return %s, %c, %d : tensor<8388608xf32>, tensor<8388608xbf16>, tensor<4096x16384xbf16>
}
