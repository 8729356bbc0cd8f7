//===- RowKeeping.cpp - rows that clusters keep ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks load, meet and store in turn, so a multiprocessor needs several whose
// phases overlap: three of 64 KB beside each other in its 227 KB. More blocks a
// row make each smaller, and the meeting dearer.
//===----------------------------------------------------------------------===//
#include "RowKeeping.h"
#include "Sizes.h"
#include "llvm/Support/MathExtras.h"

using namespace fusec;
using namespace fusec::analysis;

/// Of a row in a block, where clusters are large enough for it.
static constexpr int64_t kWantedBytes = 72 * 1024;
/// What exchanges take beside it at least.
static constexpr int64_t kExchangeBytes = 28 * 1024;
/// Of arrays in shared memory.
static constexpr uint64_t kAlignment = 128;
/// Bytes that a thread loads together.
static constexpr int64_t kThreadBytes = 128;
/// Elements of a thread in an iteration: more of 16 bits were measured to be
/// slower.
static constexpr int64_t kMaxElements = 32;
static constexpr int64_t kMaxUnroll = 16;
/// A block works on this much at least, where rows alone do not fill the
/// machine.
static constexpr int64_t kLeastBytes = 8 * 1024;
/// Of neighbouring rows, where memory is contiguous across them: more make
/// clusters larger.
static constexpr int64_t kLineBytes = 128;

/// Warps of a block along `columns`, of which a warp takes `span` at a time.
static int64_t warpsFor(int64_t bytes, int64_t columns, int64_t span) {
  int64_t warps = bytes > 160 * 1024 ? 32 : bytes > 96 * 1024 ? 16 : 8;
  while (warps > 1 && span * warps / 2 >= columns)
    warps /= 2;
  return warps;
}

/// An upper bound of what reductions exchange: every warp of a block and every
/// block of a cluster has a place for each state of each row, or every warp of
/// the cluster for one row, and no array is used again.
static int64_t exchangeBytes(const LongRows &rows, const RowTiling &tiling) {
  auto places = [](int64_t holders, int64_t bytes) -> int64_t {
    return holders > 1 ? llvm::alignTo(holders * bytes, kAlignment) : 0;
  };
  int64_t result = 0;
  int64_t holders = tiling.columnWarps * tiling.cluster;
  for (int64_t state : rows.states)
    result += tiling.rows() == 1
                  ? places(holders, state)
                  : places(tiling.columnWarps, tiling.rows() * state) +
                        places(tiling.cluster, tiling.rows() * state);
  return std::max(result, kExchangeBytes);
}

/// Blocks that rows of `bytes` together should have.
static int64_t blocksFor(int64_t bytes, int64_t groups,
                         const TargetInfo &target) {
  int64_t wanted = target.rowBlockBytes ? target.rowBlockBytes : kWantedBytes;
  int64_t most = target.maxClusterBlocks, blocks = 1;
  while (blocks < most && ceilDiv(bytes, blocks) > wanted)
    blocks *= 2;
  while (!target.rowBlockBytes && blocks < most &&
         groups * blocks * 2 <= int64_t(target.multiprocessors) &&
         bytes / (blocks * 2) >= kLeastBytes)
    blocks *= 2;
  return blocks;
}

/// Chunks of an iteration: as many loads as are on their way together, and
/// fewer where the last iteration would be mostly empty.
static int64_t unrollFor(int64_t chunks, int64_t bytes, int64_t elements) {
  int64_t most = std::clamp<int64_t>(
      std::min(kThreadBytes / bytes, kMaxElements / elements), 1, kMaxUnroll);
  return fullestUnroll(chunks, most);
}

std::optional<RowTiling> analysis::keepRows(const LongRows &rows,
                                            const TargetInfo &target) {
  if (target.maxClusterBlocks <= 1 || !rows.bytes)
    return std::nullopt;
  RowTiling result;
  result.across = rows.across;
  result.vector = rows.vector;
  // Across rows vectors of neighbouring lanes fill a line, the others take
  // columns.
  result.lanes = 32;
  if (rows.across)
    result.lanes = std::clamp<int64_t>(
        llvm::bit_floor(uint64_t(32 * rows.vector * rows.bytes / kLineBytes)),
        1, 32);
  // Short rows, for tests, are walked in several iterations, too.
  bool isShort = target.rowBlockBytes && target.rowBlockBytes < kLeastBytes;
  auto fit = [&] {
    int64_t bytes = result.rows() * rows.columns * rows.bytes;
    auto fits = [&] {
      int64_t columns = ceilDiv(rows.columns, result.cluster);
      int64_t span = result.lanes * (rows.across ? 1 : result.vector);
      int64_t own = ceilDiv(bytes, result.cluster);
      result.columnWarps = warpsFor(bytes / result.cluster, columns, span);
      if (isShort)
        result.columnWarps = std::min<int64_t>(result.columnWarps, 2);
      result.keptBytes =
          target.sharedBytesPerBlock - exchangeBytes(rows, result);
      return own <= result.keptBytes;
    };
    result.cluster =
        blocksFor(bytes, ceilDiv(rows.rows, result.rows()), target);
    while (!fits()) {
      if (result.cluster >= int64_t(target.maxClusterBlocks))
        return false;
      result.cluster *= 2;
    }
    return true;
  };
  while (rows.across && result.vector > 1 &&
         result.rows() * rows.bytes >= 2 * kLineBytes)
    result.vector /= 2;
  for (; !fit(); result.vector /= 2)
    if (!rows.across || result.vector == 1)
      return std::nullopt;
  int64_t columns = ceilDiv(rows.columns, result.cluster);
  int64_t span = result.lanes * (rows.across ? 1 : result.vector);
  int64_t chunks = ceilDiv(columns, span * result.columnWarps);
  result.unroll = unrollFor(chunks, result.vector * rows.bytes, result.vector);
  if (isShort)
    result.unroll = std::min<int64_t>(result.unroll, 2);
  result.columnsPerSplit =
      ceilDiv(rows.columns, result.columns() * result.unroll) *
      result.columns() * result.unroll;
  return result;
}
