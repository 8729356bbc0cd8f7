//===- ScaleRows.h - row scales behind a product ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FUSEC_FUSION_SCALEROWS_H
#define FUSEC_FUSION_SCALEROWS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace fusec::fusion {

/// What scaleRows did.
struct ScaledRows {
  /// Contractions that were rewritten.
  unsigned count = 0;
  /// New products of a constant operand and constant factors along what is
  /// summed, each a `graph.mul`; meant to be computed before planning.
  llvm::SmallVector<mlir::Operation *> constants;
};

/// Moves factors of rows behind the contractions of `function` that sum over
/// them:
///
///     %a = x * s[row] * g[k]       %v = %w * g[k]
///     %y = contract %a, %w    ->   %p = contract x, %v     (f32)
///                                  %y = cast(%p * s[row])
///
/// so that the scaled tensor is never stored: a norm becomes a reduction that
/// reads x once and a vector in the product's epilogue. Only where all readers
/// of the scaled tensor are rewritten, x is there without a reduction of its
/// own rows, there are many rows and columns, and g and w are constants or
/// small beside x. Changes which values are
/// rounded (docs/semantics.md), so not for mode `exact`.
ScaledRows scaleRows(mlir::FunctionOpInterface function);

} // namespace fusec::fusion

#endif // FUSEC_FUSION_SCALEROWS_H
