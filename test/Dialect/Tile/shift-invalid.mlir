// RUN: fusec-opt %s --split-input-file --verify-diagnostics

#l = #tile.layout<reg = [4:1:0], lane = [32:4:0], warp = []>
func.func @far(%x: tensor<128xf32, #l>) {
  // expected-error @+1 {{expected a distance below 128, found -128}}
  %y = tile.shift %x by -128 axis 0 : tensor<128xf32, #l>
  return
}

// -----

#l = #tile.layout<reg = [4:32:0], lane = [32:1:0], warp = []>
func.func @cyclic(%x: tensor<128xf32, #l>) {
  // expected-error @+1 {{expected one register digit along the axis}}
  %y = tile.shift %x by 1 axis 0 : tensor<128xf32, #l>
  return
}

// -----

#l = #tile.layout<reg = [4:1:0], lane = [16:4:0], warp = []>
func.func @half_warp(%x: tensor<64xf32, #l>) {
  // expected-error @+1 {{expected the lane digit 32:4:0}}
  %y = tile.shift %x by 1 axis 0 : tensor<64xf32, #l>
  return
}

// -----

#l = #tile.layout<reg = [14:1:0], lane = [32:1:1], warp = []>
func.func @registers(%x: tensor<14x32xf32, #l>) {
  // expected-error @+1 {{expected a distance below 14 along an axis of registers, found 14}}
  %y = tile.shift %x by 14 axis 0 : tensor<14x32xf32, #l>
  return
}
