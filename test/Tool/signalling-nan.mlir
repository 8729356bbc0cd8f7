// RUN: printf '\010\003\020\001\112\014\001\000\200\177\001\000\200\377\000\000\000\100' > %t.pb
// RUN: fusec run %s --target=host --input=y=%t.pb | FileCheck %s
// RUN: fusec run %s --target=emulator --input=y=%t.pb | FileCheck %s

// The larger and the smaller of an integer and a signalling NaN (the
// TensorProto has 0x7f800001, 0xff800001 and 2) are NaN.
// CHECK: f32 3
// CHECK-NEXT: nan {{-?}}nan
// CHECK: f32 3
// CHECK-NEXT: nan {{-?}}nan
func.func @main(%x: tensor<3xi32>, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<3xf32>, tensor<3xf32>) {
  %real = graph.cast %x : tensor<3xi32> -> tensor<3xf32>
  %most = graph.max %real, %y : tensor<3xf32>
  %least = graph.min %real, %y : tensor<3xf32>
  return %most, %least : tensor<3xf32>, tensor<3xf32>
}
