// RUN: fusec-opt %s --split-input-file --fusec-fusion-form-groups="verify-groups print-decisions max-live-values=40" -o /dev/null 2>&1 | FileCheck %s

// Six levels of adding a value to itself shifted: the first one would be
// computed 64 times.
// CHECK: (RecomputeTooCostly, {{.*}} us): graph.{{.*}} would be computed 33 times over
func.func @shifted(%x: tensor<1000xf32>) -> tensor<937xf32> {
  %v0 = graph.exp %x : tensor<1000xf32>
  %a0 = graph.slice %v0 offsets [0] strides [1] : tensor<1000xf32> -> tensor<999xf32>
  %b0 = graph.slice %v0 offsets [1] strides [1] : tensor<1000xf32> -> tensor<999xf32>
  %v1 = graph.add %a0, %b0 : tensor<999xf32>
  %a1 = graph.slice %v1 offsets [0] strides [1] : tensor<999xf32> -> tensor<997xf32>
  %b1 = graph.slice %v1 offsets [2] strides [1] : tensor<999xf32> -> tensor<997xf32>
  %v2 = graph.add %a1, %b1 : tensor<997xf32>
  %a2 = graph.slice %v2 offsets [0] strides [1] : tensor<997xf32> -> tensor<993xf32>
  %b2 = graph.slice %v2 offsets [4] strides [1] : tensor<997xf32> -> tensor<993xf32>
  %v3 = graph.add %a2, %b2 : tensor<993xf32>
  %a3 = graph.slice %v3 offsets [0] strides [1] : tensor<993xf32> -> tensor<985xf32>
  %b3 = graph.slice %v3 offsets [8] strides [1] : tensor<993xf32> -> tensor<985xf32>
  %v4 = graph.add %a3, %b3 : tensor<985xf32>
  %a4 = graph.slice %v4 offsets [0] strides [1] : tensor<985xf32> -> tensor<969xf32>
  %b4 = graph.slice %v4 offsets [16] strides [1] : tensor<985xf32> -> tensor<969xf32>
  %v5 = graph.add %a4, %b4 : tensor<969xf32>
  %a5 = graph.slice %v5 offsets [0] strides [1] : tensor<969xf32> -> tensor<937xf32>
  %b5 = graph.slice %v5 offsets [32] strides [1] : tensor<969xf32> -> tensor<937xf32>
  %v6 = graph.add %a5, %b5 : tensor<937xf32>
  return %v6 : tensor<937xf32>
}

// -----

// In front of a product with 16 column tiles the powers would be computed 16
// times; that takes longer than storing them.
// CHECK: (NoProfit, {{.*}} us): one kernel is estimated {{.*}} us slower than two
// CHECK: to allow it: none: separate kernels are faster
func.func @costly_prologue(%x: tensor<4096x64xf32>, %w: tensor<64x65536xf32>) -> tensor<4096x65536xf32> {
  %a = graph.pow %x, %x : tensor<4096x64xf32>
  %b = graph.pow %a, %x : tensor<4096x64xf32>
  %c = graph.pow %b, %x : tensor<4096x64xf32>
  %d = graph.pow %c, %x : tensor<4096x64xf32>
  %p = graph.contract %d, %w batch [] x [] contract [1] x [0] : tensor<4096x64xf32>, tensor<64x65536xf32> -> tensor<4096x65536xf32>
  return %p : tensor<4096x65536xf32>
}

// -----

// The cumulative sum needs the product and feeds its consumer.
// CHECK: (WouldCreateCycle, {{.*}} us): another kernel lies on a path between the two
func.func @cycle(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %s = graph.cumulative sum %p dimension = 0 : tensor<64x64xf32>
  %r = graph.mul %p, %s : tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Two convolutions around a pooling of 65 x 65 do not fit as tiles.
// CHECK: {{SharedMemoryTooSmall|HaloTooLarge}}
func.func @many_channels(%x: tensor<1x4x512x512xf64>, %w: tensor<2x4x7x7xf64>, %v: tensor<4x2x1x1xf64>) -> tensor<1x4x512x512xf64> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [3, 3] high [3, 3]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<1x4x512x512xf64>, tensor<2x4x7x7xf64> -> tensor<1x2x512x512xf64>
  %m = graph.window_reduce max %y window [1, 1, 65, 65] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 32, 32] high [0, 0, 32, 32]
      : tensor<1x2x512x512xf64> -> tensor<1x2x512x512xf64>
  %z = graph.convolution %m, %v strides [1, 1] dilations [1, 1] low [0, 0] high [0, 0]
      dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1
      : tensor<1x2x512x512xf64>, tensor<4x2x1x1xf64> -> tensor<1x4x512x512xf64>
  return %z : tensor<1x4x512x512xf64>
}

// -----

// A hundred values that all live to the end.
// CHECK: (RegisterPressure, {{.*}} us): {{.*}} values would be live at once in a thread
// CHECK: to allow it: order the ops so that values die sooner
func.func @pressure(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %v0 = graph.exp %x : tensor<1024xf32>
  %v1 = graph.exp %v0 : tensor<1024xf32>
  %v2 = graph.exp %v1 : tensor<1024xf32>
  %v3 = graph.exp %v2 : tensor<1024xf32>
  %v4 = graph.exp %v3 : tensor<1024xf32>
  %v5 = graph.exp %v4 : tensor<1024xf32>
  %v6 = graph.exp %v5 : tensor<1024xf32>
  %v7 = graph.exp %v6 : tensor<1024xf32>
  %v8 = graph.exp %v7 : tensor<1024xf32>
  %v9 = graph.exp %v8 : tensor<1024xf32>
  %v10 = graph.exp %v9 : tensor<1024xf32>
  %v11 = graph.exp %v10 : tensor<1024xf32>
  %v12 = graph.exp %v11 : tensor<1024xf32>
  %v13 = graph.exp %v12 : tensor<1024xf32>
  %v14 = graph.exp %v13 : tensor<1024xf32>
  %v15 = graph.exp %v14 : tensor<1024xf32>
  %v16 = graph.exp %v15 : tensor<1024xf32>
  %v17 = graph.exp %v16 : tensor<1024xf32>
  %v18 = graph.exp %v17 : tensor<1024xf32>
  %v19 = graph.exp %v18 : tensor<1024xf32>
  %v20 = graph.exp %v19 : tensor<1024xf32>
  %v21 = graph.exp %v20 : tensor<1024xf32>
  %v22 = graph.exp %v21 : tensor<1024xf32>
  %v23 = graph.exp %v22 : tensor<1024xf32>
  %v24 = graph.exp %v23 : tensor<1024xf32>
  %v25 = graph.exp %v24 : tensor<1024xf32>
  %v26 = graph.exp %v25 : tensor<1024xf32>
  %v27 = graph.exp %v26 : tensor<1024xf32>
  %v28 = graph.exp %v27 : tensor<1024xf32>
  %v29 = graph.exp %v28 : tensor<1024xf32>
  %v30 = graph.exp %v29 : tensor<1024xf32>
  %v31 = graph.exp %v30 : tensor<1024xf32>
  %v32 = graph.exp %v31 : tensor<1024xf32>
  %v33 = graph.exp %v32 : tensor<1024xf32>
  %v34 = graph.exp %v33 : tensor<1024xf32>
  %v35 = graph.exp %v34 : tensor<1024xf32>
  %v36 = graph.exp %v35 : tensor<1024xf32>
  %v37 = graph.exp %v36 : tensor<1024xf32>
  %v38 = graph.exp %v37 : tensor<1024xf32>
  %v39 = graph.exp %v38 : tensor<1024xf32>
  %v40 = graph.exp %v39 : tensor<1024xf32>
  %v41 = graph.exp %v40 : tensor<1024xf32>
  %v42 = graph.exp %v41 : tensor<1024xf32>
  %v43 = graph.exp %v42 : tensor<1024xf32>
  %v44 = graph.exp %v43 : tensor<1024xf32>
  %v45 = graph.exp %v44 : tensor<1024xf32>
  %v46 = graph.exp %v45 : tensor<1024xf32>
  %v47 = graph.exp %v46 : tensor<1024xf32>
  %v48 = graph.exp %v47 : tensor<1024xf32>
  %v49 = graph.exp %v48 : tensor<1024xf32>
  %v50 = graph.exp %v49 : tensor<1024xf32>
  %v51 = graph.exp %v50 : tensor<1024xf32>
  %v52 = graph.exp %v51 : tensor<1024xf32>
  %v53 = graph.exp %v52 : tensor<1024xf32>
  %v54 = graph.exp %v53 : tensor<1024xf32>
  %v55 = graph.exp %v54 : tensor<1024xf32>
  %v56 = graph.exp %v55 : tensor<1024xf32>
  %v57 = graph.exp %v56 : tensor<1024xf32>
  %v58 = graph.exp %v57 : tensor<1024xf32>
  %v59 = graph.exp %v58 : tensor<1024xf32>
  %v60 = graph.exp %v59 : tensor<1024xf32>
  %v61 = graph.exp %v60 : tensor<1024xf32>
  %v62 = graph.exp %v61 : tensor<1024xf32>
  %v63 = graph.exp %v62 : tensor<1024xf32>
  %v64 = graph.exp %v63 : tensor<1024xf32>
  %v65 = graph.exp %v64 : tensor<1024xf32>
  %v66 = graph.exp %v65 : tensor<1024xf32>
  %v67 = graph.exp %v66 : tensor<1024xf32>
  %v68 = graph.exp %v67 : tensor<1024xf32>
  %v69 = graph.exp %v68 : tensor<1024xf32>
  %v70 = graph.exp %v69 : tensor<1024xf32>
  %v71 = graph.exp %v70 : tensor<1024xf32>
  %v72 = graph.exp %v71 : tensor<1024xf32>
  %v73 = graph.exp %v72 : tensor<1024xf32>
  %v74 = graph.exp %v73 : tensor<1024xf32>
  %v75 = graph.exp %v74 : tensor<1024xf32>
  %v76 = graph.exp %v75 : tensor<1024xf32>
  %v77 = graph.exp %v76 : tensor<1024xf32>
  %v78 = graph.exp %v77 : tensor<1024xf32>
  %v79 = graph.exp %v78 : tensor<1024xf32>
  %v80 = graph.exp %v79 : tensor<1024xf32>
  %v81 = graph.exp %v80 : tensor<1024xf32>
  %v82 = graph.exp %v81 : tensor<1024xf32>
  %v83 = graph.exp %v82 : tensor<1024xf32>
  %v84 = graph.exp %v83 : tensor<1024xf32>
  %v85 = graph.exp %v84 : tensor<1024xf32>
  %v86 = graph.exp %v85 : tensor<1024xf32>
  %v87 = graph.exp %v86 : tensor<1024xf32>
  %v88 = graph.exp %v87 : tensor<1024xf32>
  %v89 = graph.exp %v88 : tensor<1024xf32>
  %v90 = graph.exp %v89 : tensor<1024xf32>
  %v91 = graph.exp %v90 : tensor<1024xf32>
  %v92 = graph.exp %v91 : tensor<1024xf32>
  %v93 = graph.exp %v92 : tensor<1024xf32>
  %v94 = graph.exp %v93 : tensor<1024xf32>
  %v95 = graph.exp %v94 : tensor<1024xf32>
  %v96 = graph.exp %v95 : tensor<1024xf32>
  %v97 = graph.exp %v96 : tensor<1024xf32>
  %v98 = graph.exp %v97 : tensor<1024xf32>
  %v99 = graph.exp %v98 : tensor<1024xf32>
  %w99 = graph.neg %v99 : tensor<1024xf32>
  %w98 = graph.add %w99, %v98 : tensor<1024xf32>
  %w97 = graph.add %w98, %v97 : tensor<1024xf32>
  %w96 = graph.add %w97, %v96 : tensor<1024xf32>
  %w95 = graph.add %w96, %v95 : tensor<1024xf32>
  %w94 = graph.add %w95, %v94 : tensor<1024xf32>
  %w93 = graph.add %w94, %v93 : tensor<1024xf32>
  %w92 = graph.add %w93, %v92 : tensor<1024xf32>
  %w91 = graph.add %w92, %v91 : tensor<1024xf32>
  %w90 = graph.add %w91, %v90 : tensor<1024xf32>
  %w89 = graph.add %w90, %v89 : tensor<1024xf32>
  %w88 = graph.add %w89, %v88 : tensor<1024xf32>
  %w87 = graph.add %w88, %v87 : tensor<1024xf32>
  %w86 = graph.add %w87, %v86 : tensor<1024xf32>
  %w85 = graph.add %w86, %v85 : tensor<1024xf32>
  %w84 = graph.add %w85, %v84 : tensor<1024xf32>
  %w83 = graph.add %w84, %v83 : tensor<1024xf32>
  %w82 = graph.add %w83, %v82 : tensor<1024xf32>
  %w81 = graph.add %w82, %v81 : tensor<1024xf32>
  %w80 = graph.add %w81, %v80 : tensor<1024xf32>
  %w79 = graph.add %w80, %v79 : tensor<1024xf32>
  %w78 = graph.add %w79, %v78 : tensor<1024xf32>
  %w77 = graph.add %w78, %v77 : tensor<1024xf32>
  %w76 = graph.add %w77, %v76 : tensor<1024xf32>
  %w75 = graph.add %w76, %v75 : tensor<1024xf32>
  %w74 = graph.add %w75, %v74 : tensor<1024xf32>
  %w73 = graph.add %w74, %v73 : tensor<1024xf32>
  %w72 = graph.add %w73, %v72 : tensor<1024xf32>
  %w71 = graph.add %w72, %v71 : tensor<1024xf32>
  %w70 = graph.add %w71, %v70 : tensor<1024xf32>
  %w69 = graph.add %w70, %v69 : tensor<1024xf32>
  %w68 = graph.add %w69, %v68 : tensor<1024xf32>
  %w67 = graph.add %w68, %v67 : tensor<1024xf32>
  %w66 = graph.add %w67, %v66 : tensor<1024xf32>
  %w65 = graph.add %w66, %v65 : tensor<1024xf32>
  %w64 = graph.add %w65, %v64 : tensor<1024xf32>
  %w63 = graph.add %w64, %v63 : tensor<1024xf32>
  %w62 = graph.add %w63, %v62 : tensor<1024xf32>
  %w61 = graph.add %w62, %v61 : tensor<1024xf32>
  %w60 = graph.add %w61, %v60 : tensor<1024xf32>
  %w59 = graph.add %w60, %v59 : tensor<1024xf32>
  %w58 = graph.add %w59, %v58 : tensor<1024xf32>
  %w57 = graph.add %w58, %v57 : tensor<1024xf32>
  %w56 = graph.add %w57, %v56 : tensor<1024xf32>
  %w55 = graph.add %w56, %v55 : tensor<1024xf32>
  %w54 = graph.add %w55, %v54 : tensor<1024xf32>
  %w53 = graph.add %w54, %v53 : tensor<1024xf32>
  %w52 = graph.add %w53, %v52 : tensor<1024xf32>
  %w51 = graph.add %w52, %v51 : tensor<1024xf32>
  %w50 = graph.add %w51, %v50 : tensor<1024xf32>
  %w49 = graph.add %w50, %v49 : tensor<1024xf32>
  %w48 = graph.add %w49, %v48 : tensor<1024xf32>
  %w47 = graph.add %w48, %v47 : tensor<1024xf32>
  %w46 = graph.add %w47, %v46 : tensor<1024xf32>
  %w45 = graph.add %w46, %v45 : tensor<1024xf32>
  %w44 = graph.add %w45, %v44 : tensor<1024xf32>
  %w43 = graph.add %w44, %v43 : tensor<1024xf32>
  %w42 = graph.add %w43, %v42 : tensor<1024xf32>
  %w41 = graph.add %w42, %v41 : tensor<1024xf32>
  %w40 = graph.add %w41, %v40 : tensor<1024xf32>
  %w39 = graph.add %w40, %v39 : tensor<1024xf32>
  %w38 = graph.add %w39, %v38 : tensor<1024xf32>
  %w37 = graph.add %w38, %v37 : tensor<1024xf32>
  %w36 = graph.add %w37, %v36 : tensor<1024xf32>
  %w35 = graph.add %w36, %v35 : tensor<1024xf32>
  %w34 = graph.add %w35, %v34 : tensor<1024xf32>
  %w33 = graph.add %w34, %v33 : tensor<1024xf32>
  %w32 = graph.add %w33, %v32 : tensor<1024xf32>
  %w31 = graph.add %w32, %v31 : tensor<1024xf32>
  %w30 = graph.add %w31, %v30 : tensor<1024xf32>
  %w29 = graph.add %w30, %v29 : tensor<1024xf32>
  %w28 = graph.add %w29, %v28 : tensor<1024xf32>
  %w27 = graph.add %w28, %v27 : tensor<1024xf32>
  %w26 = graph.add %w27, %v26 : tensor<1024xf32>
  %w25 = graph.add %w26, %v25 : tensor<1024xf32>
  %w24 = graph.add %w25, %v24 : tensor<1024xf32>
  %w23 = graph.add %w24, %v23 : tensor<1024xf32>
  %w22 = graph.add %w23, %v22 : tensor<1024xf32>
  %w21 = graph.add %w22, %v21 : tensor<1024xf32>
  %w20 = graph.add %w21, %v20 : tensor<1024xf32>
  %w19 = graph.add %w20, %v19 : tensor<1024xf32>
  %w18 = graph.add %w19, %v18 : tensor<1024xf32>
  %w17 = graph.add %w18, %v17 : tensor<1024xf32>
  %w16 = graph.add %w17, %v16 : tensor<1024xf32>
  %w15 = graph.add %w16, %v15 : tensor<1024xf32>
  %w14 = graph.add %w15, %v14 : tensor<1024xf32>
  %w13 = graph.add %w14, %v13 : tensor<1024xf32>
  %w12 = graph.add %w13, %v12 : tensor<1024xf32>
  %w11 = graph.add %w12, %v11 : tensor<1024xf32>
  %w10 = graph.add %w11, %v10 : tensor<1024xf32>
  %w9 = graph.add %w10, %v9 : tensor<1024xf32>
  %w8 = graph.add %w9, %v8 : tensor<1024xf32>
  %w7 = graph.add %w8, %v7 : tensor<1024xf32>
  %w6 = graph.add %w7, %v6 : tensor<1024xf32>
  %w5 = graph.add %w6, %v5 : tensor<1024xf32>
  %w4 = graph.add %w5, %v4 : tensor<1024xf32>
  %w3 = graph.add %w4, %v3 : tensor<1024xf32>
  %w2 = graph.add %w3, %v2 : tensor<1024xf32>
  %w1 = graph.add %w2, %v1 : tensor<1024xf32>
  %w0 = graph.add %w1, %v0 : tensor<1024xf32>
  return %w0 : tensor<1024xf32>
}
