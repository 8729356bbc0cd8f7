// A product of f16 with a bias: several kernels could compute it.
func.func @product(%x: tensor<48x64xf16>, %w: tensor<64x80xf16>, %b: tensor<80xf16>) -> tensor<48x80xf16> {
  %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<48x64xf16>, tensor<64x80xf16> -> tensor<48x80xf16>
  %bias = graph.broadcast %b [1] : tensor<80xf16> -> tensor<48x80xf16>
  %z = graph.add %y, %bias : tensor<48x80xf16>
  return %z : tensor<48x80xf16>
}
