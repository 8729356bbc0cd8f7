//===- Passes.h - passes on the graph dialect -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_H
#define FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace fusec::graph {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fusec/Dialect/Graph/Transforms/Passes.h.inc"

/// Replaces every composite nested in `root` by its definition; returns how
/// many there were. `root` itself is left.
int64_t decomposeComposites(mlir::Operation *root);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_TRANSFORMS_PASSES_H
