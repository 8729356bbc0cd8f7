//===- Textbook.h - the textbook examples of fusion -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each example of test/Fusion/textbook as a graph with open sizes and element
// type, run over the sizes, types and values that break kernels.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_DRIVER_TEXTBOOK_H
#define FUSEC_TEST_UNIT_DRIVER_TEXTBOOK_H

#include "Differential.h"

namespace fusec::test {

/// Values of the placeholders $A, $B, ... in an example's text, in that order.
using Sizes = std::vector<int64_t>;

/// A graph as MLIR text; `$T` stands for the element type.
struct Example {
  std::string text;
  /// Bound on the relative error, in half units in the last place of the
  /// element type: roundings on the longest path from an input, times how much
  /// the ops magnify them.
  double roundings;
  /// Bound on the absolute error in the same unit: the magnitude of what
  /// cancels.
  double cancelled = 0;
  /// Kernels of the fused graph.
  size_t kernels = 1;
  /// Products of magnitude 4 that are summed in f32, or in f64 for f64.
  int64_t summed = 0;
  /// Integer inputs are drawn from [0, integerLimit).
  int64_t integerLimit = 100;
};

/// How one run differs from the usual.
struct RunOptions {
  bool special = false;
  NumericsMode numerics = NumericsMode::Default;
  bool host = false;
};

/// Runs `example` in one type and shape against the reference evaluator.
void run(const Example &example, llvm::StringRef type, const Sizes &sizes,
         const RunOptions &options = {});

/// Runs `example`: f32 in all of `sizes`, of which the first is a normal one
/// and the second an odd one; the odd one in f16 and bf16 in both modes and in
/// `moreTypes`; special values in f32, in f64 and, rounded after every op, in
/// f16 and bf16. The normal one and f32's special values also on the host.
void runAll(const Example &example, llvm::ArrayRef<Sizes> sizes,
            llvm::ArrayRef<llvm::StringRef> moreTypes = {"f64"});

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_DRIVER_TEXTBOOK_H
