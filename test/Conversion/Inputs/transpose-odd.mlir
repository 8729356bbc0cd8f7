func.func @main(%x: tensor<67x133xTYPE>) -> tensor<133x67xTYPE> {
  %0 = graph.transpose %x [1, 0] : tensor<67x133xTYPE> -> tensor<133x67xTYPE>
  return %0 : tensor<133x67xTYPE>
}
