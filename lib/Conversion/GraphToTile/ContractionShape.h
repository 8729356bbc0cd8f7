//===- ContractionShape.h - loops of a hero as b, m, n, k -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction's loops taken as out(b, m, n) = sum over k of A(b, m, k) *
// B(b, n, k), found from the index maps of the hero's operands alone: loops
// that both operands use are batches, loops of one operand are rows or columns,
// reduced loops are k. A loop that one operand sees only divided by a constant
// (output channels of a grouped convolution) is split first.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONSHAPE_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONSHAPE_H

#include "KernelBuilder.h"

namespace fusec::graph_to_tile {

struct ContractionShape {
  /// Sizes of the loops after splitting.
  llvm::SmallVector<int64_t> sizes;
  /// Loops after splitting -> spine dims (parallel, reduced).
  mlir::AffineMap spine;
  /// Loops of each kind, outermost first.
  llvm::SmallVector<unsigned> batch, m, n, k;
  /// The operand that is A (m, k); the other one is B.
  unsigned lhsOperand = 0;
  /// Loops along which neighbours are neighbours in an operand's memory.
  llvm::SmallVector<unsigned> contiguous;

  /// Product of the sizes of `loops`.
  int64_t extent(llvm::ArrayRef<unsigned> loops) const;
  /// Sizes of `loops`, 1 for 0: of loops that are never entered.
  llvm::SmallVector<int64_t> boxOf(llvm::ArrayRef<unsigned> loops) const;
  /// Whether the outermost loop of the spine is among `loops`: their extent is
  /// given at run time, so that the size of a batch is not part of the program.
  bool isOpen(llvm::ArrayRef<unsigned> loops) const {
    return llvm::is_contained(loops, 0u);
  }
  /// What the run-time extent of `loops` counts in: a divisor that does not
  /// depend on the outermost loop of the spine, unless an operand's memory is
  /// contiguous along it.
  int64_t unit(llvm::ArrayRef<unsigned> loops) const;
};

/// The shape of the hero of `form`; nothing if sizes are not static or loops
/// have no such form. Loops are ordered and A and B chosen so that eight
/// consecutive n, and k, are contiguous in memory where possible.
std::optional<ContractionShape>
contractionShape(analysis::FactTable &facts, const analysis::RegionForm &form);

/// `shape`, found for the same region in other sizes, with the sizes of `form`;
/// nothing if its loops do not split alike.
std::optional<ContractionShape> withSizesOf(ContractionShape shape,
                                            analysis::FactTable &facts,
                                            const analysis::RegionForm &form);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONSHAPE_H
