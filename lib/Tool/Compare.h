//===- Compare.h - expected against found -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When two results of one graph are the same result. docs/semantics.md derives
// the default tolerance.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_COMPARE_H
#define FUSEC_LIB_TOOL_COMPARE_H

#include "Arguments.h"
#include "Model.h"
#include <string>

namespace fusec::tool {

/// Floats are close if
///   |found - expected| <= absolute + relative * |expected|
///                         + scaled * (largest finite |expected| of the tensor)
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double scaled = 0;
  /// The largest element along the last dimension must be where it is expected
  /// (any of several equal ones).
  bool sameTop = false;
};

/// What a graph tells about one of its outputs.
struct OutputFacts {
  /// All floats of the graph are f64, so it computes in f64.
  bool isDouble = false;
  /// The scale of the dequantise that makes the output; 0 if none does, or if
  /// it has several or computed ones.
  double step = 0;
};

/// The facts of each output of `model`, which must not be compiled yet.
std::vector<OutputFacts> outputFacts(Model &model);

/// What --rtol, --atol and --steps say.
struct ToleranceOptions {
  /// Both are ONNX's form if one is given: absolute + relative * |expected|.
  std::optional<Tolerance> given;
  /// Quantisation steps by which outputs of a dequantise may differ.
  int64_t steps = 0;

  /// The tolerance of an output of type `dtype`.
  Tolerance of(DType dtype, const OutputFacts &facts) const;
};

std::vector<OptionSpec> toleranceOptionSpecs();
llvm::Expected<ToleranceOptions> parseTolerance(const Arguments &arguments);

/// The outcome of a comparison.
struct Difference {
  int64_t elements = 0, wrong = 0;
  /// Largest errors: as they are, over |expected|, and over the largest
  /// |expected| of the tensor. Always finite.
  double maxAbsolute = 0, maxRelative = 0, maxScaled = 0;
  /// The first wrong element, or a type or shape that differs; empty if equal
  /// within the tolerance.
  std::string first;

  bool ok() const { return first.empty(); }
};

/// Compares. Types and shapes must be equal, integers and bools exactly, NaN
/// only with NaN, infinities by sign.
Difference compare(const HostTensor &expected, const HostTensor &found,
                   const Tolerance &tolerance);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_COMPARE_H
