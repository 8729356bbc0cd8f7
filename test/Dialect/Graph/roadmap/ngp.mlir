// RUN: fusec-opt %s --verify-roundtrip -o /dev/null
// RUN: fusec-opt %s --fusec-graph-decompose-composites --canonicalize -o /dev/null
//
// Neural radiance field on a hash grid, forward: four rays march in steps of
// 1/16 until all are opaque (transmittance below 1/8) or the volume ends. Each
// step hashes the eight corners of the cell, interpolates their features, runs
// a two-layer network and composites density and colour. Rays that ended keep
// their values.
func.func @f(%origin: tensor<4x3xf32>, %direction: tensor<4x3xf32>, %table: tensor<64x2xf32>,
             %w1: tensor<2x8xf32>, %w2: tensor<8x4xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<i32>) {
  %step0 = graph.constant dense<0> : tensor<i32>
  %trans0 = graph.constant dense<1.0> : tensor<4xf32>
  %color0 = graph.constant dense<0.0> : tensor<4x3xf32>
  %r:3 = graph.while (%step0, %trans0, %color0) max_trips = 64
      : (tensor<i32>, tensor<4xf32>, tensor<4x3xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<4x3xf32>) {
  ^bb0(%step: tensor<i32>, %trans: tensor<4xf32>, %color: tensor<4x3xf32>):
    %steps = graph.constant dense<16> : tensor<i32>
    %opaque = graph.constant dense<0.125> : tensor<4xf32>
    %inside = graph.compare lt %step, %steps : tensor<i32>
    %alive = graph.compare ge %trans, %opaque : tensor<4xf32>
    %any = graph.reduce any %alive [0] : tensor<4xi1> -> tensor<i1>
    %more = graph.and %inside, %any : tensor<i1>
    graph.yield %more : tensor<i1>
  } do {
  ^bb0(%step: tensor<i32>, %trans: tensor<4xf32>, %color: tensor<4x3xf32>):
    // Sample positions in the unit cube, then in cells of an 8^3 grid.
    %time = graph.cast %step : tensor<i32> -> tensor<f32>
    %dt = graph.constant dense<0.0625> : tensor<f32>
    %t = graph.mul %time, %dt : tensor<f32>
    %tb = graph.broadcast %t [] : tensor<f32> -> tensor<4x3xf32>
    %way = graph.mul %direction, %tb : tensor<4x3xf32>
    %p = graph.add %origin, %way : tensor<4x3xf32>
    %res = graph.constant dense<7.0> : tensor<4x3xf32>
    %scaled = graph.mul %p, %res : tensor<4x3xf32>
    %cell = graph.floor %scaled : tensor<4x3xf32>
    %frac = graph.sub %scaled, %cell : tensor<4x3xf32>
    %celli = graph.cast %cell : tensor<4x3xf32> -> tensor<4x3xi32>
    %cellu = graph.cast %celli : tensor<4x3xi32> -> tensor<4x3xui32>
    // Corners, their hashes and features.
    %offsets = graph.constant dense<[[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]> : tensor<8x3xui32>
    %cellb = graph.broadcast %cellu [0, 2] : tensor<4x3xui32> -> tensor<4x8x3xui32>
    %offb = graph.broadcast %offsets [1, 2] : tensor<8x3xui32> -> tensor<4x8x3xui32>
    %corner = graph.add %cellb, %offb : tensor<4x8x3xui32>
    %primes = graph.constant dense<[1, 2654435761, 805459861]> : tensor<3xui32>
    %primesb = graph.broadcast %primes [2] : tensor<3xui32> -> tensor<4x8x3xui32>
    %mixed = graph.mul %corner, %primesb : tensor<4x8x3xui32>
    %mx = graph.slice %mixed offsets [0, 0, 0] strides [1, 1, 1] : tensor<4x8x3xui32> -> tensor<4x8x1xui32>
    %my = graph.slice %mixed offsets [0, 0, 1] strides [1, 1, 1] : tensor<4x8x3xui32> -> tensor<4x8x1xui32>
    %mz = graph.slice %mixed offsets [0, 0, 2] strides [1, 1, 1] : tensor<4x8x3xui32> -> tensor<4x8x1xui32>
    %hxy = graph.xor %mx, %my : tensor<4x8x1xui32>
    %hash = graph.xor %hxy, %mz : tensor<4x8x1xui32>
    %mask = graph.constant dense<63> : tensor<4x8x1xui32>
    %slot = graph.and %hash, %mask : tensor<4x8x1xui32>
    %slots = graph.reshape %slot : tensor<4x8x1xui32> -> tensor<4x8xui32>
    %features = graph.gather %table, %slots axis = 0 : tensor<64x2xf32>, tensor<4x8xui32> -> tensor<4x8x2xf32>
    // Trilinear weights: the fraction on the far side, the rest on the near.
    %one = graph.constant dense<1.0> : tensor<4x3xf32>
    %rest = graph.sub %one, %frac : tensor<4x3xf32>
    %zero = graph.constant dense<0> : tensor<4x8x3xui32>
    %far = graph.compare ne %offb, %zero : tensor<4x8x3xui32>
    %fracb = graph.broadcast %frac [0, 2] : tensor<4x3xf32> -> tensor<4x8x3xf32>
    %restb = graph.broadcast %rest [0, 2] : tensor<4x3xf32> -> tensor<4x8x3xf32>
    %side = graph.select %far, %fracb, %restb : tensor<4x8x3xi1>, tensor<4x8x3xf32>
    %weights = graph.reduce prod %side [2] : tensor<4x8x3xf32> -> tensor<4x8xf32>
    %code = graph.contract %weights, %features batch [0] x [0] contract [1] x [1] : tensor<4x8xf32>, tensor<4x8x2xf32> -> tensor<4x2xf32>
    // The network: density and colour.
    %h0 = graph.contract %code, %w1 batch [] x [] contract [1] x [0] : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %h1 = graph.relu %h0 : tensor<4x8xf32>
    %out = graph.contract %h1, %w2 batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    %raw = graph.slice %out offsets [0, 0] strides [1, 1] : tensor<4x4xf32> -> tensor<4x1xf32>
    %raw1 = graph.reshape %raw : tensor<4x1xf32> -> tensor<4xf32>
    %sigma = graph.exp %raw1 : tensor<4xf32>
    %rgbraw = graph.slice %out offsets [0, 1] strides [1, 1] : tensor<4x4xf32> -> tensor<4x3xf32>
    %rgb = graph.logistic %rgbraw : tensor<4x3xf32>
    // Compositing.
    %dtb = graph.broadcast %dt [] : tensor<f32> -> tensor<4xf32>
    %depth = graph.mul %sigma, %dtb : tensor<4xf32>
    %negated = graph.neg %depth : tensor<4xf32>
    %pass = graph.exp %negated : tensor<4xf32>
    %ones = graph.constant dense<1.0> : tensor<4xf32>
    %alpha = graph.sub %ones, %pass : tensor<4xf32>
    %weight = graph.mul %trans, %alpha : tensor<4xf32>
    %weightb = graph.broadcast %weight [0] : tensor<4xf32> -> tensor<4x3xf32>
    %light = graph.mul %weightb, %rgb : tensor<4x3xf32>
    %color1 = graph.add %color, %light : tensor<4x3xf32>
    %trans1 = graph.mul %trans, %pass : tensor<4xf32>
    // Dead rays keep what they have.
    %opaque = graph.constant dense<0.125> : tensor<4xf32>
    %alive = graph.compare ge %trans, %opaque : tensor<4xf32>
    %aliveb = graph.broadcast %alive [0] : tensor<4xi1> -> tensor<4x3xi1>
    %nextTrans = graph.select %alive, %trans1, %trans : tensor<4xi1>, tensor<4xf32>
    %nextColor = graph.select %aliveb, %color1, %color : tensor<4x3xi1>, tensor<4x3xf32>
    %inc = graph.constant dense<1> : tensor<i32>
    %next = graph.add %step, %inc : tensor<i32>
    graph.yield %next, %nextTrans, %nextColor : tensor<i32>, tensor<4xf32>, tensor<4x3xf32>
  }
  return %r#2, %r#1, %r#0 : tensor<4x3xf32>, tensor<4xf32>, tensor<i32>
}
