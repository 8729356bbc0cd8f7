//===- Window.h - windows of pooling and convolution ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_WINDOW_H
#define FUSEC_LIB_FRONTEND_ONNX_WINDOW_H

#include "Operator.h"

namespace fusec::onnx::importer {

/// The spatial attributes of a node, one entry per spatial dimension.
struct Window {
  Dims kernel, strides, dilations, low, high;
  /// Sizes of the result.
  Dims out;
  /// Padding behind the data that makes a floor formula give `out`; differs
  /// from `high` where ceil_mode adds a partial window.
  Dims highForFloor;
};

/// Reads strides, dilations, pads, auto_pad (and ceil_mode) for `input` spatial
/// sizes. `kernel` is used where the node has no kernel_shape, with which it
/// must otherwise agree.
std::optional<Window> readWindow(Operator &op, DimsRef input,
                                 std::optional<Dims> kernel, bool hasCeilMode);

/// A spatial attribute of `count` positive entries, or ones.
std::optional<Dims> spatialAttr(Operator &op, llvm::StringRef name,
                                size_t count);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_WINDOW_H
