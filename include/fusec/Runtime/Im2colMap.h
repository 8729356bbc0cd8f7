//===- Im2colMap.h - tensor maps of convolution windows ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine can walk over the places of a convolution's filter itself:
// a load takes a number of pixels one after the other, row by row within a
// box and from image to image, each moved by the same offset into the filter.
// No program has such maps yet; the prelude and the emulator know them.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_IM2COLMAP_H
#define FUSEC_RUNTIME_IM2COLMAP_H

#include "fusec/Runtime/Program.h"

namespace fusec::runtime {

/// As cuTensorMapEncodeIm2col takes it. The tensor has 3 to 5 dimensions: from
/// the innermost one channels, 1 to 3 of space (w, h, d), images. `tensor.box`
/// is empty, `tensor.steps` are the distances of pixels (1 for channels and
/// images).
struct Im2colMapArg {
  TensorMapArg tensor;
  /// Pixels are taken at coordinates in [lower[i], dims[i + 1] + upper[i]) of
  /// the i-th dimension of space, before the offset is added.
  std::vector<int32_t> lower, upper;
  /// Elements of a pixel and pixels of a copy: they lie in shared memory pixel
  /// by pixel.
  uint32_t channels = 0, pixels = 0;
};

/// Checks what the copy engine demands of a map of a buffer of `bufferBytes`.
llvm::Error checkIm2colMap(const Im2colMapArg &map, int64_t bufferBytes);

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_IM2COLMAP_H
