//===- StencilMarch.h - windows along a marching row ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second form of a stencil kernel. A warp holds a strip of columns and
// marches down the rows; of each value that windows read it keeps the last few
// rows in registers, and neighbouring columns come from neighbouring lanes. No
// shared memory, no barriers, and rows are computed once a strip. Of a sum of
// products it keeps the sums of the rows to come instead: a new row is added to
// all that it is part of.
//
// It fits windows with unit stride that slide along the last two axes only, and
// windows that are spelt with slices of padded values. Where windows slide
// along the two axes before the last (images with channels last), lanes run
// along the channels and a thread holds all columns of its strip.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_STENCILMARCH_H
#define FUSEC_ANALYSIS_STENCILMARCH_H

#include "fusec/Analysis/RegionShape.h"

namespace fusec::analysis {

/// A value of which rows are kept: read by windows, and an argument of the
/// region or made by one of its ops.
struct MarchedValue {
  mlir::Value value;
  /// Where its elements lie relative to a spine point, per dim of the value:
  /// scale is 1 wherever there is a spine dim.
  llvm::SmallVector<TileExtent> box;
  /// Rows and columns around the spine point, both inclusive.
  int64_t firstRow = 0, lastRow = 0, firstColumn = 0, lastColumn = 0;
  /// Rows and columns that the largest window over it spans.
  int64_t windowRows = 1, windowColumns = 1;
};

/// A window whose sums are carried down the rows: row r of the window adds row
/// i + first + r * step of `value` to row i of its result.
struct CarriedSum {
  mlir::Operation *window = nullptr;
  mlir::Value value;
  /// The reduced dim of the window that runs along its rows, and its size.
  unsigned tapDim = 0;
  int64_t taps = 1;
  int64_t first = 0, step = 1;
};

/// How a stencil region marches.
struct MarchForm {
  /// The spine dims that rows and columns are.
  unsigned row = 0, column = 0;
  /// The spine dim that lanes run along, if it is not `column`.
  std::optional<unsigned> lane;
  /// Producers first.
  llvm::SmallVector<MarchedValue> values;
  llvm::SmallVector<CarriedSum> sums;
  /// Neighbouring columns that a lane holds; with `lane` all of the strip's.
  int64_t vector = 4;
  /// Rows that one iteration makes.
  int64_t unroll = 4;
  /// Rows of the arguments that are loaded before they are needed; at most
  /// `unroll`.
  int64_t ahead = 4;
  /// Rows before the first output row that fill the registers, and whether
  /// their text is apart from the loop's, without what no later row needs.
  int64_t warmUp = 0;
  bool isApart = true;
  /// Output rows of a strip: a multiple of `unroll` and `handedRows`.
  int64_t height = 0;
  /// Columns at either side of a strip that serve its inner columns only;
  /// multiples of `vector` without `lane`.
  int64_t leftMargin = 0, rightMargin = 0;
  /// Warps of a block: strips beside each other that do not meet, or, with a
  /// Row region behind, all lanes of one strip.
  int64_t warps = 4;
  /// With a Row region behind: output rows that are handed to it at a time, a
  /// multiple of `unroll`, the elements in shared memory from one point to the
  /// next, and bytes for all that is handed.
  int64_t handedRows = 0, handedPitch = 0, handedBytes = 0;

  /// Columns of a strip, and those of them that are stored.
  int64_t columns() const { return lane ? vector : 32 * vector; }
  int64_t usefulColumns() const { return columns() - leftMargin - rightMargin; }
  /// Points computed over points stored: margins of lanes, and rows before the
  /// first.
  double repeated() const {
    double across = lane ? 1 : double(columns()) / double(usefulColumns());
    return across * double(height + warmUp) / double(height);
  }
};

/// How the Stencil region `form` (static sizes) marches; nothing if it cannot,
/// or if its windows are too large for registers.
std::optional<MarchForm> analyzeMarch(const RegionForm &form);

/// The heights of strips that `form` may march in, that of `march` first, no
/// two alike. What is made is the same.
llvm::SmallVector<int64_t> marchHeights(const RegionForm &form,
                                        const MarchForm &march);

/// `march`, which is how `form` marches, with the widths and heights of
/// `pattern`: how the same region marches in other sizes.
MarchForm withWidths(MarchForm march, const MarchForm &pattern);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_STENCILMARCH_H
