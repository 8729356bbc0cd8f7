// Two products of one operand, which may become one.
func.func @main(%x: tensor<32x64xf16>, %a: tensor<64x48xf16>, %b: tensor<64x48xf16>) -> (tensor<32x48xf16>, tensor<32x48xf16>) {
  %y = graph.contract %x, %a batch [] x [] contract [1] x [0] : tensor<32x64xf16>, tensor<64x48xf16> -> tensor<32x48xf16>
  %z = graph.contract %x, %b batch [] x [] contract [1] x [0] : tensor<32x64xf16>, tensor<64x48xf16> -> tensor<32x48xf16>
  return %y, %z : tensor<32x48xf16>, tensor<32x48xf16>
}
