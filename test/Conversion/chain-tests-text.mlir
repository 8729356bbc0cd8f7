// In a chain that keeps values, accesses of one mask test it once: columns of 60
// are no whole warps.
// RUN: fusec compile %s --emit=cuda --arch=sm_90a --quiet | FileCheck %s
// RUN: fusec run %s --target=emulator --against=reference --seed=1

// CHECK: FUSEC_DEVICE void {{.*}}_f1(
// CHECK: const bool [[IS:v[0-9]+]] = {{v[0-9]+}} < n0;
// CHECK: if ([[IS]]) {
// CHECK-NEXT: FUSEC_UNROLL
// CHECK-NEXT: for (i32 [[R:r[0-9]+]] = 0; [[R]] < 15; [[R]] += 1) {
// CHECK: ld<1>([[A:a[0-9]+]], [[R]], p0, {{v[0-9]+}});
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: FUSEC_UNROLL
// CHECK-NEXT: for (i32 [[R]] = 0; [[R]] < 15; ++[[R]])
// CHECK-NEXT: [[A]]{{\[}}[[R]]] = 0x0p0f;
// CHECK: if ({{v[0-9]+}}) {
// CHECK-NEXT: FUSEC_UNROLL
// CHECK: st<1>(p
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: f32
func.func @main(%a0: tensor<60x60xf32>) -> (tensor<60x60xf32>) {
  %v0 = graph.reduce sum %a0 [1] : tensor<60x60xf32> -> tensor<60xf32>
  %v1 = graph.broadcast %v0 [0] : tensor<60xf32> -> tensor<60x60xf32>
  %v2 = graph.reduce max %a0 [0] : tensor<60x60xf32> -> tensor<60xf32>
  %v3 = graph.broadcast %v2 [1] : tensor<60xf32> -> tensor<60x60xf32>
  %v4 = graph.transpose %a0 [1, 0] : tensor<60x60xf32> -> tensor<60x60xf32>
  %v5 = graph.sub %v4, %v3 : tensor<60x60xf32>
  %v6 = graph.add %v5, %v1 : tensor<60x60xf32>
  %v7 = graph.tanh %v6 : tensor<60x60xf32>
  %v8 = graph.reduce sum %v7 [1] : tensor<60x60xf32> -> tensor<60xf32>
  %v9 = graph.broadcast %v8 [0] : tensor<60xf32> -> tensor<60x60xf32>
  %v10 = graph.reduce max %v7 [0] : tensor<60x60xf32> -> tensor<60xf32>
  %v11 = graph.broadcast %v10 [1] : tensor<60xf32> -> tensor<60x60xf32>
  %v12 = graph.transpose %v7 [1, 0] : tensor<60x60xf32> -> tensor<60x60xf32>
  %v13 = graph.sub %v12, %v11 : tensor<60x60xf32>
  %v14 = graph.add %v13, %v9 : tensor<60x60xf32>
  %v15 = graph.tanh %v14 : tensor<60x60xf32>
  %v16 = graph.reduce sum %v15 [1] : tensor<60x60xf32> -> tensor<60xf32>
  %v17 = graph.broadcast %v16 [0] : tensor<60xf32> -> tensor<60x60xf32>
  %v18 = graph.reduce max %v15 [0] : tensor<60x60xf32> -> tensor<60xf32>
  %v19 = graph.broadcast %v18 [1] : tensor<60xf32> -> tensor<60x60xf32>
  %v20 = graph.transpose %v15 [1, 0] : tensor<60x60xf32> -> tensor<60x60xf32>
  %v21 = graph.sub %v20, %v19 : tensor<60x60xf32>
  %v22 = graph.add %v21, %v17 : tensor<60x60xf32>
  %v23 = graph.tanh %v22 : tensor<60x60xf32>
  %v24 = graph.reduce sum %v23 [1] : tensor<60x60xf32> -> tensor<60xf32>
  %v25 = graph.broadcast %v24 [0] : tensor<60xf32> -> tensor<60x60xf32>
  %v26 = graph.reduce max %v23 [0] : tensor<60x60xf32> -> tensor<60xf32>
  %v27 = graph.broadcast %v26 [1] : tensor<60xf32> -> tensor<60x60xf32>
  %v28 = graph.transpose %v23 [1, 0] : tensor<60x60xf32> -> tensor<60x60xf32>
  %v29 = graph.sub %v28, %v27 : tensor<60x60xf32>
  %v30 = graph.add %v29, %v25 : tensor<60x60xf32>
  %v31 = graph.tanh %v30 : tensor<60x60xf32>
  %v32 = graph.reduce sum %v31 [1] : tensor<60x60xf32> -> tensor<60xf32>
  %v33 = graph.broadcast %v32 [0] : tensor<60xf32> -> tensor<60x60xf32>
  %v34 = graph.reduce max %v31 [0] : tensor<60x60xf32> -> tensor<60xf32>
  %v35 = graph.broadcast %v34 [1] : tensor<60xf32> -> tensor<60x60xf32>
  %v36 = graph.transpose %v31 [1, 0] : tensor<60x60xf32> -> tensor<60x60xf32>
  %v37 = graph.sub %v36, %v35 : tensor<60x60xf32>
  %v38 = graph.add %v37, %v33 : tensor<60x60xf32>
  %v39 = graph.tanh %v38 : tensor<60x60xf32>
  %v40 = graph.reduce sum %v39 [1] : tensor<60x60xf32> -> tensor<60xf32>
  %v41 = graph.broadcast %v40 [0] : tensor<60xf32> -> tensor<60x60xf32>
  %v42 = graph.reduce max %v39 [0] : tensor<60x60xf32> -> tensor<60xf32>
  %v43 = graph.broadcast %v42 [1] : tensor<60xf32> -> tensor<60x60xf32>
  %v44 = graph.transpose %v39 [1, 0] : tensor<60x60xf32> -> tensor<60x60xf32>
  %v45 = graph.sub %v44, %v43 : tensor<60x60xf32>
  %v46 = graph.add %v45, %v41 : tensor<60x60xf32>
  %v47 = graph.tanh %v46 : tensor<60x60xf32>
  return %v47 : tensor<60x60xf32>
}
