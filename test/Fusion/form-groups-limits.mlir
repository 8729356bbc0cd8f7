// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups max-ops=4 max-buffers=4" | FileCheck %s
// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="print-decisions max-ops=4 max-buffers=4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// WHY: (RegionTooLarge, {{.*}} us): the kernel would hold more than 4 ops
// WHY: to allow it: raise max-ops
// CHECK-LABEL: func @long
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @long(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = graph.neg %x : tensor<1024xf32>
  %1 = graph.exp %0 : tensor<1024xf32>
  %2 = graph.neg %1 : tensor<1024xf32>
  %3 = graph.exp %2 : tensor<1024xf32>
  %4 = graph.neg %3 : tensor<1024xf32>
  %5 = graph.exp %4 : tensor<1024xf32>
  %6 = graph.neg %5 : tensor<1024xf32>
  return %6 : tensor<1024xf32>
}

// -----

// WHY: (TooManyBuffers, {{.*}} us): the kernel would take more than 4 buffers
// CHECK-LABEL: func @wide
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @wide(%a: tensor<1024xf32>, %b: tensor<1024xf32>, %c: tensor<1024xf32>, %d: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = graph.add %a, %b : tensor<1024xf32>
  %1 = graph.add %0, %c : tensor<1024xf32>
  %2 = graph.add %1, %d : tensor<1024xf32>
  return %2 : tensor<1024xf32>
}
