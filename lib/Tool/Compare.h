//===- Compare.h - expected against found -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_COMPARE_H
#define FUSEC_LIB_TOOL_COMPARE_H

#include "fusec/Support/HostTensor.h"
#include <string>

namespace fusec::tool {

/// |found - expected| <= absolute + relative * |expected| for floats; the
/// defaults are those of ONNX's backend tests.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

/// The outcome of a comparison.
struct Difference {
  int64_t elements = 0, wrong = 0;
  double maxAbsolute = 0, maxRelative = 0;
  /// The first wrong element, or a type or shape that differs; empty if equal
  /// within the tolerance.
  std::string first;

  bool ok() const { return first.empty(); }
};

/// Compares. Types and shapes must be equal, integers and bools exactly, NaN
/// only with NaN, infinities by sign.
Difference compare(const HostTensor &expected, const HostTensor &found,
                   const Tolerance &tolerance = {});

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_COMPARE_H
