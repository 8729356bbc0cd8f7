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
  /// Elements of memory between neighbours along each spine dim.
  llvm::SmallVector<int64_t> strides = {};
};

/// Where a turned input whose columns start anywhere in a vector of memory lies
/// in shared memory: an element is as far from the start of a vector there as
/// in device memory, so that whole vectors are copied. Column c begins at about
/// c * pitch, and `pitch` is the stride of columns modulo `vector`.
struct TileImage {
  /// Elements of 16 bytes.
  int64_t vector = 1;
  /// Elements between two columns.
  int64_t pitch = 0;
  /// Columns after which another 16 bytes are left out, where the pitch alone
  /// would put what lanes read together into the same banks; 0: none.
  int64_t skewEvery = 0;
  /// Vectors of a column, one more than the rows are.
  int64_t vectors = 0;

  /// Elements of shared memory for `columns` columns.
  int64_t size(int64_t columns) const {
    return columns * pitch +
           vector * (2 + (skewEvery ? columns / skewEvery : 0));
  }
  /// Columns that `trips` rounds of `threads` threads copy, a vector each.
  int64_t columnsIn(int64_t trips, int64_t threads) const {
    return (trips * threads + vectors - 1) / vectors;
  }
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
  /// One for each turned input, where vectors of memory start anywhere in rows
  /// or columns (odd sizes); none where rows and columns are whole vectors.
  llvm::SmallVector<TileImage, 2> images;
  /// Where the outputs' rows start anywhere in a vector: the elements of a
  /// sector of memory, of which the L2 writes a part as slowly as all. The tile
  /// of a row begins at the first whole one behind columns.tile * block - lead.
  /// Else 0.
  int64_t lead = 0;
  /// Elements of the outputs between two rows.
  llvm::SmallVector<int64_t> outputStrides;

  /// Whether spine dim `dim` is in the tile.
  bool isTiled(unsigned dim) const {
    return (dim >= rows.first && dim < rows.last) ||
           (dim >= columns.first && dim < columns.last);
  }
  /// Elements between two columns in shared memory, for elements of `bytes`.
  int64_t pitch(int64_t bytes) const;
  /// Columns are stored in groups of 16 bytes that are exchanged so that
  /// neither side meets bank conflicts; else columns are padded.
  bool isSwizzled() const { return rows.vector > 1 && !isInterleaved; }
  /// Columns of an image that some row of the tile needs.
  int64_t imageColumns() const {
    return columns.tile + std::max<int64_t>(lead, 1) - 1;
  }
  /// Vectors of `image` that each thread copies.
  int64_t imageTrips(const TileImage &image) const {
    return (imageColumns() * image.vectors + 32 * warps - 1) / (32 * warps);
  }
  /// Elements of shared memory of `image`, with what rounds copy too much.
  int64_t imageSize(const TileImage &image) const {
    return image.size(image.columnsIn(imageTrips(image), 32 * warps));
  }
};

/// Elements between two columns of `length` elements of `bytes` in shared
/// memory that lanes beside each other read: an odd number of words, or of
/// elements that are wider.
inline int64_t paddedPitch(int64_t length, int64_t bytes) {
  return length + std::max<int64_t>(1, 4 / bytes);
}

/// The tile, or nothing where no input is worth turning. `threads` of a block
/// (a power of two), or 0: free.
std::optional<TransposeTile>
tileTranspose(FactTable &facts, const RegionForm &form, int64_t threads = 0);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_TRANSPOSETILE_H
