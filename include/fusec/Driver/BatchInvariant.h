//===- BatchInvariant.h - choices that ignore the batch ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which order floats are added follows from sizes: how many blocks share a
// row, whether a product divides k, which loop it has. Where results are not to
// depend on how many items are computed together, every choice is made for one
// size of the batch and for one number of multiprocessors, and taken for the
// size at hand, in the way in which a graph is compiled like another
// (fusec/Driver/Plan.h). So no chooser has to know of it, and none can forget.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DRIVER_BATCHINVARIANT_H
#define FUSEC_DRIVER_BATCHINVARIANT_H

#include "fusec/Driver/Plan.h"

namespace fusec::driver {

/// The size of the outermost axis for which choices are made. Tiles of products
/// have no more rows.
inline constexpr int64_t kInvariantBatch = 128;

/// `module` as `options.batchInvariant` asks for; `plan` gets what was decided.
/// The batch is the outermost dimension of the first result that has one, and
/// every dimension that is the same loop or, through reshapes, its outermost
/// factor. Fails where no program of the same choices exists for this size: a
/// constant of several values, or an op with a body, depends on it.
llvm::Expected<Compilation> compileInvariant(mlir::ModuleOp module,
                                             const CompileOptions &options,
                                             const StageObserver &observer,
                                             Plan *plan);

/// As `compile`, with choices for the sizes at hand that other ones can follow
/// if `options.batchInvariant`.
llvm::Expected<Compilation> compileAtSizes(mlir::ModuleOp module,
                                           const CompileOptions &options,
                                           const StageObserver &observer,
                                           Plan *plan);

/// Simplifies the function of `module` and forms regions in it, in place, as
/// for that size. For targets without plans.
llvm::Expected<fusion::FusionDecisions>
planGraphInvariant(mlir::ModuleOp module, const CompileOptions &options);

} // namespace fusec::driver

#endif // FUSEC_DRIVER_BATCHINVARIANT_H
