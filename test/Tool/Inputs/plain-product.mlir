// A product of f16 and nothing else.
func.func @product(%x: tensor<48x64xf16>, %w: tensor<64x80xf16>) -> tensor<48x80xf16> {
  %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<48x64xf16>, tensor<64x80xf16> -> tensor<48x80xf16>
  return %y : tensor<48x80xf16>
}
