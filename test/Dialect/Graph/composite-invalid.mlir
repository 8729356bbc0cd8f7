// RUN: fusec-opt %s --split-input-file --verify-diagnostics

func.func @softmax_nothing(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected at least one dimension}}
  %0 = graph.softmax %x [] : tensor<4xf32>
  return
}

// -----

func.func @softmax_dimension(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimension 1 is outside the rank 1}}
  %0 = graph.log_softmax %x [1] : tensor<4xf32>
  return
}

// -----

func.func @layer_norm_axis(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error@+1 {{axis: dimension 2 is outside the rank 2}}
  %0 = graph.layer_norm %x, %s axis = 2 epsilon = 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @layer_norm_shape(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{expected parameters of shape 8, found 4}}
  %0 = graph.layer_norm %x, %s axis = 1 epsilon = 1.0e-5 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_dynamic(%x: tensor<4x?xf32>, %s: tensor<?xf32>) {
  // expected-error@+1 {{expected static normalised dimensions, found ?}}
  %0 = graph.rms_norm %x, %s axis = 1 epsilon = 1.0e-5 : tensor<4x?xf32>, tensor<?xf32>
  return
}

// -----

func.func @batch_norm_channel(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error@+1 {{channel: dimension -1 is outside the rank 2}}
  %0 = graph.batch_norm %x, %s, %s, %s, %s channel = -1 epsilon = 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @batch_norm_shape(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error@+1 {{expected parameters of shape 8, found 4}}
  %0 = graph.batch_norm %x, %s, %s, %s, %s channel = 1 epsilon = 1.0e-5 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}
