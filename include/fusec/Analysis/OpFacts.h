//===- OpFacts.h - what the planner knows of one op -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op's iteration space costs an allocation and some affine arithmetic to
// ask for; the planner asks thousands of times. A FactTable asks once.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_OPFACTS_H
#define FUSEC_ANALYSIS_OPFACTS_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace fusec::analysis {

/// How an op takes part in a kernel: its FusionRole refined by sizes.
enum class OpClass : uint8_t {
  /// Computed where it is read: elementwise and movement.
  Inlined,
  /// Staged along shared reduced axes.
  Reduction,
  /// Staged as tiles with a halo: pooling, stencils and small convolutions.
  Window,
  /// The one contraction or large convolution of a kernel.
  Hero,
  /// A kernel by itself.
  Search,
};

/// Facts about one fusible op. Immutable.
struct OpFacts {
  mlir::Operation *op = nullptr;
  OpClass opClass = OpClass::Inlined;
  graph::FusionRole role = graph::FusionRole::elementwise;
  graph::IterationSpace space;
  /// Parallel sizes followed by reduced sizes.
  llvm::SmallVector<int64_t> loops;
  /// Machine instructions per point of the iteration space.
  int64_t cost = 1;
  /// No reduced axes and every operand is read at the result's own index.
  bool isPlain = false;

  unsigned numParallel() const { return space.parallel.size(); }
};

/// Facts of all ops asked about so far. Not thread-safe; facts stay valid until
/// the op is changed or erased.
class FactTable {
public:
  /// Facts of `op`, or null if it has no element-wise definition (constants,
  /// control flow, composites, other dialects).
  const OpFacts *get(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<OpFacts>> facts;
};

/// Axes of its first operand that a reduction reduces.
llvm::SmallVector<int64_t> reducedAxes(const OpFacts &fact);

/// True if the loops of two reductions have different static sizes, so that no
/// spine holds both.
bool haveDifferentRows(const OpFacts &a, const OpFacts &b);

/// Whether `reduction` may run behind windows in their kernel: over the last
/// axis of an image, one value a point.
bool mayFollowWindows(const OpFacts &reduction);

/// True if what one of two reductions has as parallel loops the other may
/// reduce, and the converse: rows and columns of one spine, by their sizes.
bool mayCross(const OpFacts &a, const OpFacts &b);

/// Whether two contractions may be a pair, whose tiles have columns of both:
/// one operand in common, all else alike, 16-bit floats, and no batches.
bool mayPair(const OpFacts &a, const OpFacts &b);

/// True for a convolution-like window whose reduction is short enough to run
/// on the plain cores from a staged tile, and for every pooling window.
bool isStencilWindow(const graph::IterationSpace &space, unsigned numOperands);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_OPFACTS_H
