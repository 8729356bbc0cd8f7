// RUN: fusec-opt %s --split-input-file --verify-diagnostics

// What is left is one element along the axis, or one for each of the four warps.
#full = #tile.layout<reg = [2:1:1], lane = [32:2:1], warp = [4:64:1]>
#row = #tile.layout<reg = [], lane = [32:0:1], warp = [4:0:1]>
tile.kernel @two(%a: memref<?xf32>) attributes {threads = 128 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %at = tile.iota 1 : tensor<1x256xindex, #full>
  %v = tile.load %a[%at] : memref<?xf32>, tensor<1x256xindex, #full> -> tensor<1x256xf32, #full>
  // expected-error @below {{expected results of size 1 and reduced layout along the axes, or of one element a warp}}
  %m = tile.reduce %v axes [1] : tensor<1x256xf32, #full> -> tensor<1x4xf32, #row> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  }
}

// -----

// Elements of a warp are repeated by that warp alone.
#full = #tile.layout<reg = [2:1:1], lane = [32:2:1], warp = [4:64:1]>
#each = #tile.layout<reg = [], lane = [32:0:1], warp = [4:1:1]>
tile.kernel @spread(%a: memref<?xf32>) attributes {threads = 128 : i64, readOnly = 1 : i64, grid = array<i64: 1, 1, 1>, extents = array<i64>} {
  %at = tile.iota 1 : tensor<1x8xindex, #each>
  %v = tile.load %a[%at] : memref<?xf32>, tensor<1x8xindex, #each> -> tensor<1x8xf32, #each>
  // expected-error @below {{axis 1 has size 8, expected 1 or 256}}
  %r = tile.broadcast %v : tensor<1x8xf32, #each> -> tensor<1x256xf32, #full>
}
