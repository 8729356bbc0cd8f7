// RUN: fusec-opt %s --test-graph-to-tile --canonicalize --cse | FileCheck %s

// The sum of columns: memory is contiguous across the rows of the spine, so
// lanes and vectors run along tile axis 0 and warps along the reduced axis 1.
// CHECK: tile.reduce {{.*}} axes [1] : tensor<{{.*}}#tile.layout<reg = [{{.*}}], lane = [32:{{[0-9]+}}:0], warp = [8:1:1]>> -> tensor<{{.*}}lane = [32:{{[0-9]+}}:0], warp = [8:0:1]
func.func @f(%x: tensor<256x4096xf32>) -> tensor<4096xf32> {
  %0 = graph.fusion(%a = %x) : (tensor<256x4096xf32>) -> tensor<4096xf32> {
    %s = graph.reduce sum %a [0] : tensor<256x4096xf32> -> tensor<4096xf32>
    graph.yield %s : tensor<4096xf32>
  }
  return %0 : tensor<4096xf32>
}
