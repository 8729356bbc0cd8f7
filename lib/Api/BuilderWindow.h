//===- BuilderWindow.h - sliding windows of built graphs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_BUILDERWINDOW_H
#define FUSEC_LIB_API_BUILDERWINDOW_H

#include "Builder.h"

namespace fusec::api {

/// A fusec_window with its defaults filled in.
struct Window {
  Dims window, strides, dilations, low, high;
};

/// Reads the caller's window of `count` dimensions; null means all defaults.
/// All numbers are at most 2^31, so that sizes made of them fit.
bool readWindow(GraphMaker &b, const fusec_window *from, size_t count,
                Window &result);

/// Number of places of a window of `extent` elements in dimension `dim`, which
/// has `size` elements.
bool countPlaces(GraphMaker &b, int64_t size, int64_t extent,
                 const Window &window, size_t dim, int64_t &result);

} // namespace fusec::api

#endif // FUSEC_LIB_API_BUILDERWINDOW_H
