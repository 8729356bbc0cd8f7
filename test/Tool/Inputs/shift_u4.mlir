// Unsigned 4-bit numbers whose highest bit is set.
func.func @f(%a: tensor<16xui4>) -> (tensor<16xui4>, tensor<16xui4>) {
  %x = graph.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xui4>
  %n = graph.constant dense<[0, 1, 2, 3, 0, 1, 2, 3, 3, 2, 1, 0, 4, 5, 8, 1]> : tensor<16xui4>
  %v = graph.or %a, %x : tensor<16xui4>
  %r = graph.shr %v, %n : tensor<16xui4>
  %s = graph.shr %n, %v : tensor<16xui4>
  return %r, %s : tensor<16xui4>, tensor<16xui4>
}
