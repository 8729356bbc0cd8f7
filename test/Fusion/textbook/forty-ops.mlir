// A DAG of forty element-wise ops, with values used once, twice and across: one
// kernel, three reads, one write.
// RUN: fusec compile %s --emit=fused | FileCheck %s
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
// RUN: fusec explain %s --plan-only | FileCheck %s --check-prefix=WHY
// WHY: launches: 40 (one per op) -> 1 fused
// WHY: pointwise 40 
// WHY: edges fused{{.*}}; 0 not fused
// RUN: fusec compile %s --emit=cuda | FileCheck %s --check-prefix=CUDA
// CUDA-COUNT-3: ldm<
// CUDA-NOT: ldm<
// CUDA-COUNT-1: stm<
// CUDA-NOT: stm<
func.func @f(%a: tensor<4096xf32>, %b: tensor<4096xf32>, %c: tensor<4096xf32>) -> tensor<4096xf32> {
  %v0 = graph.mul %b, %c : tensor<4096xf32>
  %v1 = graph.add %v0, %a : tensor<4096xf32>
  %v2 = graph.max %v1, %a : tensor<4096xf32>
  %v3 = graph.sub %v2, %v0 : tensor<4096xf32>
  %v4 = graph.tanh %v3 : tensor<4096xf32>
  %v5 = graph.mul %v4, %v2 : tensor<4096xf32>
  %v6 = graph.add %v5, %v0 : tensor<4096xf32>
  %v7 = graph.max %v6, %v4 : tensor<4096xf32>
  %v8 = graph.sub %v7, %v1 : tensor<4096xf32>
  %v9 = graph.neg %v8 : tensor<4096xf32>
  %v10 = graph.mul %v9, %v2 : tensor<4096xf32>
  %v11 = graph.add %v10, %v8 : tensor<4096xf32>
  %v12 = graph.max %v11, %v3 : tensor<4096xf32>
  %v13 = graph.sub %v12, %v10 : tensor<4096xf32>
  %v14 = graph.abs %v13 : tensor<4096xf32>
  %v15 = graph.mul %v14, %v12 : tensor<4096xf32>
  %v16 = graph.add %v15, %v5 : tensor<4096xf32>
  %v17 = graph.max %v16, %v14 : tensor<4096xf32>
  %v18 = graph.sub %v17, %v6 : tensor<4096xf32>
  %v19 = graph.logistic %v18 : tensor<4096xf32>
  %v20 = graph.mul %v19, %v7 : tensor<4096xf32>
  %v21 = graph.add %v20, %v18 : tensor<4096xf32>
  %v22 = graph.max %v21, %v8 : tensor<4096xf32>
  %v23 = graph.sub %v22, %v20 : tensor<4096xf32>
  %v24 = graph.tanh %v23 : tensor<4096xf32>
  %v25 = graph.mul %v24, %v22 : tensor<4096xf32>
  %v26 = graph.add %v25, %v10 : tensor<4096xf32>
  %v27 = graph.max %v26, %v24 : tensor<4096xf32>
  %v28 = graph.sub %v27, %v11 : tensor<4096xf32>
  %v29 = graph.neg %v28 : tensor<4096xf32>
  %v30 = graph.mul %v29, %v12 : tensor<4096xf32>
  %v31 = graph.add %v30, %v28 : tensor<4096xf32>
  %v32 = graph.max %v31, %v13 : tensor<4096xf32>
  %v33 = graph.sub %v32, %v30 : tensor<4096xf32>
  %v34 = graph.abs %v33 : tensor<4096xf32>
  %v35 = graph.mul %v34, %v32 : tensor<4096xf32>
  %v36 = graph.add %v35, %v15 : tensor<4096xf32>
  %v37 = graph.max %v36, %v34 : tensor<4096xf32>
  %v38 = graph.sub %v37, %v16 : tensor<4096xf32>
  %v39 = graph.logistic %v38 : tensor<4096xf32>
  return %v39 : tensor<4096xf32>
}
