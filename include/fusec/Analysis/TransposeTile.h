//===- TransposeTile.h - tiles of regions that transpose --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Pointwise region may read some inputs along another axis than the one in
// which its outputs are contiguous. Such an input is loaded along its own axis
// and turned in shared memory. This says whether that pays, for which inputs,
// and how large the tile is; the cost model and the generator share it.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_TRANSPOSETILE_H
#define FUSEC_ANALYSIS_TRANSPOSETILE_H

#include "fusec/Analysis/RegionShape.h"

namespace fusec::analysis {

/// An input of full size at one index.
struct TurnedRead {
  mlir::Value input;
  /// Spine dims -> index of the input: a permutation.
  mlir::AffineMap map;
  /// Bytes of an element.
  int64_t bytes = 0;
};

/// A tile of two groups of neighbouring spine dims, each taken as one linear
/// axis: the outputs are contiguous along `columns`, the turned inputs along
/// `rows`.
struct TransposeTile {
  /// [first, last) spine dims.
  struct Group {
    unsigned first = 0, last = 0;
    int64_t size = 0;
    /// Elements of the tile, and consecutive ones that a thread moves at once.
    int64_t tile = 0, vector = 1;
  };
  Group rows, columns;
  /// All columns are in the tile and follow the rows in memory: outputs are
  /// written as one run of rows.tile * columns.size elements.
  bool isInterleaved = false;
  /// Warps of a block.
  int64_t warps = 8;
  /// Inputs contiguous along rows, and all others of full size.
  llvm::SmallVector<TurnedRead, 2> turned, straight;
  /// No input is straight and turning the outputs moves no more than turning
  /// the inputs: everything is computed where rows are contiguous.
  bool turnsOutputs = false;

  /// Elements between two columns in shared memory, for elements of `bytes`.
  int64_t pitch(int64_t bytes) const;
  /// Columns are stored in groups of 16 bytes that are exchanged so that
  /// neither side meets bank conflicts; else columns are padded.
  bool isSwizzled() const { return rows.vector > 1 && !isInterleaved; }
};

/// The tile, or nothing where no input is worth turning. `threads` of a block
/// (a power of two), or 0: free.
std::optional<TransposeTile>
tileTranspose(FactTable &facts, const RegionForm &form, int64_t threads = 0);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_TRANSPOSETILE_H
