//===- Magnitudes.h - what is known of sizes of numbers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a product of several factors may leave the range of f32 on its way
// follows from the element types of the factors, and from their elements where
// they are constants.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_MAGNITUDES_H
#define FUSEC_DIALECT_GRAPH_IR_MAGNITUDES_H

#include "fusec/Dialect/Graph/IR/Graph.h"

namespace fusec::graph {

/// Powers of two between which all magnitudes lie that are neither zero nor
/// infinite: 2^low <= |x| <= 2^high.
struct Magnitudes {
  int low = 0, high = 0;

  int width() const { return high - low; }
  /// Those of products.
  Magnitudes operator*(Magnitudes other) const {
    return {low + other.low, high + other.high};
  }
};

/// Those of a tensor of floats: of its elements, if it is a constant whose
/// elements are at hand, or of its type.
Magnitudes magnitudesOf(mlir::Value value);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_MAGNITUDES_H
