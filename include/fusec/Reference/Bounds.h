//===- Bounds.h - what right results of a graph may be ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries an interval for every element through a graph: all values that a
// right way to compute it may have, whatever the order of its sums, with or
// without rounding between the ops of a kernel (docs/semantics.md). No
// constant is tuned: the intervals follow from the graph and its inputs.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_REFERENCE_BOUNDS_H
#define FUSEC_REFERENCE_BOUNDS_H

#include "fusec/Reference/Evaluate.h"
#include <string>

namespace fusec::reference {

/// The right values of one tensor. For element i of a float tensor:
///   low and high NaN: NaN and nothing else;
///   low -inf and high +inf: anything, NaN included (*unknown*);
///   otherwise: low <= value <= high, where both have the tensor's type.
/// Integers and bools: exactly `middle`, or unknown as above.
struct Bounds {
  /// The value when every op is computed in f64 and rounded to f32 or f64.
  HostTensor middle;
  std::vector<double> low, high;

  bool isUnknown(int64_t i) const {
    return low[i] == -HUGE_VAL && high[i] == HUGE_VAL;
  }
};

/// Bounds of the results of `function`. Composite ops count as their
/// decompositions. Fails as `evaluate` does. Without `float8Sums`, ways that
/// sum products of 8-bit floats in f32, that is all but those of GPUs, are
/// meant: these bounds are narrower.
llvm::Expected<std::vector<Bounds>>
evaluateBounds(mlir::func::FuncOp function,
               llvm::ArrayRef<HostTensor> arguments,
               const EvaluateOptions &options = {}, bool float8Sums = true);

/// How a tensor lies in its bounds.
struct Deviation {
  int64_t elements = 0;
  /// Elements outside; elements that may be anything; elements that only one
  /// value is right for.
  int64_t wrong = 0, unknown = 0, exact = 0;
  /// The largest |found - middle| / (bound - middle) on the side where found
  /// is: at most 1 where all is right; kept finite.
  double worst = 0;
  /// The first wrong element, or a type or shape that differs; empty if all is
  /// right.
  std::string first;

  bool ok() const { return first.empty(); }
};
Deviation deviationOf(const Bounds &bounds, const HostTensor &found);

/// True if there is a rule for the op; composites have one by decomposition.
bool hasBoundRule(mlir::OperationName name);

} // namespace fusec::reference

#endif // FUSEC_REFERENCE_BOUNDS_H
