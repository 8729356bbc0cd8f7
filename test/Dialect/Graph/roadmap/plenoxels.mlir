// RUN: fusec-opt %s --verify-roundtrip -o /dev/null
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize -o /dev/null
//
// Lookup in a sparse voxel grid: links from a 6^3 grid to rows of data, -1 for
// empty voxels. Each point interpolates density and spherical harmonics of
// degree 1 from eight corners and evaluates the colour for its view direction.
func.func @f(%points: tensor<5x3xf32>, %view: tensor<5x3xf32>, %links: tensor<6x6x6xi32>,
             %data: tensor<20x13xf32>) -> (tensor<5xf32>, tensor<5x3xf32>) {
  %res = graph.constant dense<5.0> : tensor<5x3xf32>
  %scaled = graph.mul %points, %res : tensor<5x3xf32>
  %cell = graph.floor %scaled : tensor<5x3xf32>
  %frac = graph.sub %scaled, %cell : tensor<5x3xf32>
  %celli = graph.cast %cell : tensor<5x3xf32> -> tensor<5x3xi32>
  %offsets = graph.constant dense<[[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]> : tensor<8x3xi32>
  %cellb = graph.broadcast %celli [0, 2] : tensor<5x3xi32> -> tensor<5x8x3xi32>
  %offb = graph.broadcast %offsets [1, 2] : tensor<8x3xi32> -> tensor<5x8x3xi32>
  %corner = graph.add %cellb, %offb : tensor<5x8x3xi32>
  %link = graph.gather_nd %links, %corner : tensor<6x6x6xi32>, tensor<5x8x3xi32> -> tensor<5x8xi32>
  // Empty voxels count as zeros.
  %none = graph.constant dense<0> : tensor<5x8xi32>
  %full = graph.compare ge %link, %none : tensor<5x8xi32>
  %row = graph.max %link, %none : tensor<5x8xi32>
  %stored = graph.gather %data, %row axis = 0 : tensor<20x13xf32>, tensor<5x8xi32> -> tensor<5x8x13xf32>
  %fullb = graph.broadcast %full [0, 1] : tensor<5x8xi1> -> tensor<5x8x13xi1>
  %zeros = graph.constant dense<0.0> : tensor<5x8x13xf32>
  %voxels = graph.select %fullb, %stored, %zeros : tensor<5x8x13xi1>, tensor<5x8x13xf32>
  %one = graph.constant dense<1.0> : tensor<5x3xf32>
  %rest = graph.sub %one, %frac : tensor<5x3xf32>
  %zero = graph.constant dense<0> : tensor<5x8x3xi32>
  %far = graph.compare ne %offb, %zero : tensor<5x8x3xi32>
  %fracb = graph.broadcast %frac [0, 2] : tensor<5x3xf32> -> tensor<5x8x3xf32>
  %restb = graph.broadcast %rest [0, 2] : tensor<5x3xf32> -> tensor<5x8x3xf32>
  %side = graph.select %far, %fracb, %restb : tensor<5x8x3xi1>, tensor<5x8x3xf32>
  %weights = graph.reduce prod %side [2] : tensor<5x8x3xf32> -> tensor<5x8xf32>
  %mixed = graph.contract %weights, %voxels batch [0] x [0] contract [1] x [1] : tensor<5x8xf32>, tensor<5x8x13xf32> -> tensor<5x13xf32>
  %d = graph.slice %mixed offsets [0, 0] strides [1, 1] : tensor<5x13xf32> -> tensor<5x1xf32>
  %d1 = graph.reshape %d : tensor<5x1xf32> -> tensor<5xf32>
  %density = graph.relu %d1 : tensor<5xf32>
  // Basis: c0, -c1 y, c1 z, -c1 x; the axes are picked by a strided matrix.
  %c0 = graph.constant dense<0.28209479177387814> : tensor<5x1xf32>
  %axes = graph.constant dense<[[0.0, 0.0, -0.48860251190291992], [-0.48860251190291992, 0.0, 0.0], [0.0, 0.48860251190291992, 0.0]]> : tensor<3x3xf32>
  %c1 = graph.contract %view, %axes batch [] x [] contract [1] x [0] : tensor<5x3xf32>, tensor<3x3xf32> -> tensor<5x3xf32>
  %basis = graph.concat %c0, %c1 axis = 1 : tensor<5x1xf32>, tensor<5x3xf32> -> tensor<5x4xf32>
  %sh = graph.slice %mixed offsets [0, 1] strides [1, 1] : tensor<5x13xf32> -> tensor<5x12xf32>
  %sh3 = graph.reshape %sh : tensor<5x12xf32> -> tensor<5x3x4xf32>
  %raw = graph.contract %sh3, %basis batch [0] x [0] contract [2] x [1] : tensor<5x3x4xf32>, tensor<5x4xf32> -> tensor<5x3xf32>
  %rgb = graph.logistic %raw : tensor<5x3xf32>
  return %density, %rgb : tensor<5xf32>, tensor<5x3xf32>
}
