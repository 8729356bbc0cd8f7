//===- RowTiling.h - how a row region is cut into blocks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axis assignment of a Row region (docs/schedule-space.md): which digits of
// rows and columns go to the grid, warps, lanes, registers and loops. Planner,
// cost model and generator get it from here, so that what is priced is what is
// built.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_ROWTILING_H
#define FUSEC_ANALYSIS_ROWTILING_H

#include "fusec/Analysis/RegionShape.h"
#include "fusec/Support/TargetInfo.h"
#include <optional>

namespace fusec::analysis {

/// Facts about memory accesses of a region along its spine.
struct AccessFacts {
  /// Bytes of the narrowest element type among values of full size.
  int64_t elementBytes = 4;
  /// Bytes of the widest element type that is stored at full size.
  int64_t storedBytes = 0;
  /// Bytes of inputs of full size at one point of the spine.
  int64_t inputBytes = 0;
  /// Instructions of the ops that are computed at each point.
  int64_t instructions = 0;
  /// Bytes read or written with consecutive addresses along the last reduced
  /// and along the last parallel spine dim.
  double reducedContiguous = 0, parallelContiguous = 0;
  /// Every buffer of full size is read and written at the spine's own linear
  /// index: rows follow each other in memory without gaps.
  bool isDense = true;
  /// Every input of full size has its rows beside each other, column after
  /// column without gaps.
  bool isDenseAcross = true;
  /// How the largest input lies in memory, outermost first: `outerRows`
  /// parallel dims, reduced dims, the other parallel dims, `innerColumns`
  /// reduced dims (channels of a group, where groups are rows).
  unsigned outerRows = 0, innerColumns = 0;
};
/// Facts about the buffers that `form` reads and writes; static shapes.
AccessFacts accessFacts(FactTable &facts, const RegionForm &form);

/// How far apart in memory two neighbours along dim `dim` of `map` are, at the
/// origin.
int64_t strideAlong(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape,
                    unsigned dim);

/// The most elements of `bytes` bytes that one access of 16 bytes takes along
/// an axis of `inner` elements, at most `limit`; a power of two.
int64_t vectorAlong(int64_t inner, int64_t bytes, int64_t limit);

/// Rows whose columns blocks share, which meet between the reductions and what
/// is stored for each element. Rows are cut as memory is: `batches` of
/// `rowsOfBatch` neighbours each. Where rows have columns between them in
/// memory, each of these `inner` columns is a row of its own until states are
/// combined.
struct RowMeeting {
  int64_t batches = 1, rowsOfBatch = 1, inner = 1;
  /// Leading parallel and trailing reduced dims of the spine that are these.
  unsigned outerRows = 0, innerColumns = 0;
  /// Rows of a batch that a block takes (whole runs of `inner`), and the blocks
  /// that share a batch so.
  int64_t ownRows = 1, rowBlocks = 1;
  /// Columns without the inner ones. A block has `share` of them at least, and
  /// one `unit` more at most.
  int64_t columns = 0, share = 0, unit = 1;
  /// Iterations that every block has, and the first of them whose inputs it
  /// keeps in shared memory.
  int64_t iterations = 0, keptIterations = 0;
  /// Bytes for these, and for the rest of the share if it fits, too.
  int64_t keptBytes = 0;

  /// Groups of blocks that meet; all do so at one time.
  int64_t groups() const { return batches * rowBlocks; }
};

/// Whole rows of which some outputs are contiguous across rows, along parallel
/// dim `dim` (a norm that is stored transposed). A block takes a tile of such
/// rows, turns those outputs in shared memory and stores them in lines.
struct RowTurn {
  unsigned dim = 0;
  /// Rows of the tile along `dim`; a power of two.
  int64_t along = 1;
  /// The innermost other parallel dim, along which short rows follow each other
  /// in memory, and rows of the tile along it (a power of two); `dim` where
  /// there is none.
  unsigned beside = 0;
  int64_t besideRows = 1;
  /// Positions in RegionForm::outputs.
  llvm::SmallVector<unsigned, 2> outputs;
};

/// A place in shared memory for what a block reads and writes of rows that are
/// one run of memory: of an input, of an output, or of an input and then, where
/// their types are the same, of an output.
struct RunBuffer {
  /// A fusion block argument, or null.
  mlir::Value input;
  /// Position in RegionForm::outputs.
  std::optional<unsigned> output;
  /// Of either.
  mlir::Type type;
};
/// Those of all inputs and outputs of full size; static shapes.
llvm::SmallVector<RunBuffer, 4> runBuffers(const RegionForm &form);

/// The digits. Rows are the parallel spine, columns the reduced one, both
/// linear. Chosen by the direction in which memory is contiguous:
///  * along the row: lanes and vectors run along columns; several short rows
///    share a warp, one long row takes the whole block;
///  * across rows (a reduction over an outer axis): lanes and vectors run over
///    rows, warps and registers along columns.
struct RowTiling {
  bool across = false;
  /// Consecutive elements of a thread along the contiguous axis.
  int64_t vector = 1;
  /// Lanes along columns; the others hold rows.
  int64_t lanes = 1;
  /// Warps of a block along columns and over rows.
  int64_t columnWarps = 1, rowWarps = 1;
  /// Vectors (along the row) or elements (across) of a thread along columns.
  int64_t repeats = 1;
  /// Rows of a thread, along the row.
  int64_t rowRepeats = 1;
  /// Blocks that share the columns of a row: each reduces a part of them, the
  /// last one to finish combines the parts in order.
  int64_t splits = 1;
  /// Columns that each of them takes: a multiple of unroll * columns().
  int64_t columnsPerSplit = 0;
  /// The blocks that share a row take iterations in turn, so that all of them
  /// are in one stretch of memory at a time; else each has a run of columns.
  bool inTurn = false;
  /// Chunks of an iteration whose loads are issued together.
  int64_t unroll = 1;
  /// Iterations that have a place in shared memory, where copies run ahead of
  /// the work; 0: loads to registers.
  int64_t stages = 0;
  /// All reductions are made in one pass over the columns, sums of exp(x - max)
  /// by rescaling; rows that are split or walked in chunks.
  bool onePass = false;
  /// Blocks of a cluster that hold a row together, each its part of every
  /// chunk.
  int64_t cluster = 1;
  /// What a block may keep in shared memory of inputs that several passes over
  /// the columns read: such a row is read once. 0: nothing is kept.
  int64_t keptBytes = 0;
  /// Rows start anywhere in a vector of memory: the tile's columns are the
  /// whole aligned vectors of a row, and its two ends, together fewer elements
  /// than this, are taken one a thread. 0: rows start at a vector.
  int64_t edges = 0;
  /// Across rows: columns start anywhere in a vector of memory, so a thread
  /// takes the rows that are whole vectors of its columns, which are up to
  /// `skew` - 1 before those of its place. Blocks overlap by so many rows, and
  /// states of threads are put in order before they are combined. 0: columns
  /// start at a vector, or have none.
  int64_t skew = 0;
  /// Rows start anywhere in a vector of memory, but those of a block follow
  /// each other and are whole vectors together: inputs and outputs go through
  /// shared memory as one run, of which threads take words; where rows start
  /// within a word, `edges` says so of these.
  bool isRun = false;
  /// All blocks meet between two passes over the columns, of which each of
  /// `splits` blocks has a share; `rows` and `columns` are then as it says.
  std::optional<RowMeeting> meeting;
  /// Outputs that are turned; `blocks` is not for these.
  std::optional<RowTurn> turn;

  int64_t threads() const { return 32 * columnWarps * rowWarps; }
  /// Rows and columns that a block, or a cluster, holds at a time. A longer row
  /// is walked in chunks.
  int64_t rows() const {
    return 32 / lanes * rowWarps * rowRepeats * (across ? vector : 1);
  }
  /// Those of them that the block is for.
  int64_t ownRows() const { return rows() - skew; }
  int64_t columns() const {
    return (across ? 1 : vector) * lanes * repeats * columnWarps * cluster;
  }
  /// Of a row of `count` columns, those in whole vectors at most.
  int64_t body(int64_t count) const {
    return edges ? count / vector * vector : count;
  }
  /// Of these, how many every row has.
  int64_t leastBody(int64_t count) const {
    return edges ? (count - vector + 1) / vector * vector : count;
  }
  /// Whether one iteration takes a row of `count` columns.
  bool isHeld(int64_t count) const { return body(count) <= columns() * unroll; }
  /// Blocks for `count` rows.
  int64_t blocks(int64_t count) const {
    if (meeting)
      return meeting->groups() * splits;
    return (count + ownRows() - 1) / ownRows() * splits * cluster;
  }
};

/// Where a choice departs from the model's, in powers of two: 1 is twice as
/// many, -1 half.
struct RowLeaning {
  /// Threads of a row, and so elements of a thread.
  int threads = 0;
  /// Rows of a block, where they share a warp or have one each.
  int rows = 0;
  /// Blocks that share a row.
  int blocks = 0;
  /// Elements of a vector; never more than the model's.
  int vector = 0;
  /// Without `isRun` (0 or -1).
  int runs = 0;
};

/// How `tileRows` may choose.
struct TilingOptions {
  /// Of a block, for a region that shares its launch (a power of two); 0: free.
  int64_t threads = 0;
  /// Sums may be rescaled: not where every op rounds to its type.
  bool rescale = true;
  RowLeaning leaning = {};
};
/// Chooses the digits.
RowTiling tileRows(const RegionForm &form, const AccessFacts &access,
                   const TargetInfo &target, const TilingOptions &options = {});

/// The model's choice, and then others for a search, no two alike.
std::vector<RowTiling> rowCandidates(const RegionForm &form,
                                     const AccessFacts &access,
                                     const TargetInfo &target,
                                     const TilingOptions &options = {});

/// The digits, for people and records: "threads 256, vector 8, repeats 2".
/// Different for tilings that differ.
std::string nameOf(const RowTiling &tiling);

/// Who holds the rows of a Row region, for people; empty for other regions and
/// for rows that stay in the registers of a block.
std::string describeRows(const RegionForm &form, FactTable &facts,
                         const TargetInfo &target);

/// A sum of exp(x - m) beside the maximum m of the same x over the same axes:
/// with the pair as its state, (m, s), one pass makes both. Where a new maximum
/// comes, the sum so far is multiplied by exp(old - new).
struct RescaledSum {
  /// Positions in RegionForm::stages.
  unsigned max, sum;
};
llvm::SmallVector<RescaledSum, 1> rescaledSums(const RegionForm &form);

/// What `value` is a repetition or another shape of.
mlir::Value withoutMovement(mlir::Value value);

/// A sum of (x - mean)^2 beside the sum of the same x that makes the mean, over
/// the same axes: with (count, mean, sum of squares) as state, one pass makes
/// both. Neither is ever computed as a difference of large sums.
struct CentredSum {
  /// Positions in RegionForm::stages.
  unsigned sum, squares;
};
llvm::SmallVector<CentredSum, 1> centredSums(const RegionForm &form);

/// True if one pass over the columns makes all reductions: none needs another
/// one's result, but for rescaled and centred sums if `rescale`.
bool isOnePass(const RegionForm &form, bool rescale);

/// True if the columns of a row may be spread over blocks that meet once: one
/// pass, and nothing stored for each element needs a reduction's result.
bool canSplit(const RegionForm &form, bool rescale = true);

/// Whether the blocks of a Row region wait for each other: such a kernel shares
/// its launch with no other.
bool blocksMeet(FactTable &facts, const RegionForm &form,
                const TargetInfo &target);

/// Whether a Row region of one output is cut in the same way by itself and as a
/// part of a launch of its own number of threads: whole rows in registers.
bool rowsMayShare(FactTable &facts, const RegionForm &form,
                  const TargetInfo &target);

/// Passes over the columns of a row that is walked in chunks.
unsigned countPasses(const RegionForm &form, bool onePass);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_ROWTILING_H
