//===- TransposeTile.cpp - tiles of regions that transpose ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/TransposeTile.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Both sides of a tile are runs of 128 bytes of memory at least.
static constexpr int64_t kLineBytes = 128;
static constexpr int64_t kAccessBytes = 16;
static constexpr int64_t kLeastTile = 32, kMostTile = 128;
// Below this many, columns are taken whole.
static constexpr int64_t kFewColumns = 16;
// Elements of a thread where outputs are written as one run.
static constexpr int64_t kMostElements = 64;
// Static shared memory of a block.
static constexpr int64_t kSharedBytes = 40 * 1024;
// Rows in shared memory start at other banks where they are not swizzled.
static constexpr int64_t kRunPadding = 48;

static int64_t bytesOf(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8u);
}

/// The innermost dim of more than one point of a permutation's results.
static std::optional<unsigned> innermost(AffineMap map,
                                         ArrayRef<int64_t> spine) {
  for (AffineExpr expr : llvm::reverse(map.getResults())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    if (spine[dim] != 1)
      return dim;
  }
  return std::nullopt;
}

/// True if dims `dim` and `dim + 1` are neighbours in this order in `map`.
static bool areJoined(AffineMap map, unsigned dim) {
  ArrayRef<AffineExpr> results = map.getResults();
  for (size_t i = 0; i + 1 < results.size(); ++i)
    if (cast<AffineDimExpr>(results[i]).getPosition() == dim)
      return cast<AffineDimExpr>(results[i + 1]).getPosition() == dim + 1;
  return false;
}

namespace {
class Finder {
public:
  Finder(FactTable &facts, const RegionForm &form, int64_t threads)
      : facts(facts), form(form), threads(threads), spine(form.spine()) {}
  std::optional<TransposeTile> run();

private:
  void collect();
  TransposeTile::Group groupAt(unsigned dim);
  bool chooseSizes(TransposeTile &tile);
  bool chooseRun(TransposeTile &tile);

  FactTable &facts;
  const RegionForm &form;
  int64_t threads;
  SmallVector<int64_t> spine;
  SmallVector<TurnedRead> reads; // of full size
  // Of the reads and the outputs.
  SmallVector<AffineMap> maps;
  int64_t outputBytes = 16;
};
} // namespace

void Finder::collect() {
  llvm::SmallPtrSet<Operation *, 16> inside(form.ops.begin(), form.ops.end());
  for (Operation *op : form.ops) {
    auto placed = form.placements.find(op);
    if (placed == form.placements.end())
      continue; // a constant
    for (auto [operand, access] :
         llvm::zip(op->getOperands(), facts.get(op)->space.operands)) {
      Operation *producer = operand.getDefiningOp();
      if ((producer && inside.contains(producer)) || !access.map ||
          access.isMasked)
        continue;
      for (AffineMap at : placed->second.reads) {
        AffineMap map = at ? access.map.compose(at) : AffineMap();
        if (!map || !map.isPermutation())
          continue;
        maps.push_back(map);
        TurnedRead read{operand, map, bytesOf(operand.getType())};
        if (llvm::none_of(reads, [&](const TurnedRead &other) {
              return other.input == operand && other.map == map;
            }))
          reads.push_back(read);
      }
    }
  }
  for (const RegionOutput &output : form.outputs) {
    maps.push_back(output.index);
    outputBytes = std::min(outputBytes, bytesOf(output.value.getType()));
  }
}

/// The dims around `dim` that are one linear axis everywhere.
TransposeTile::Group Finder::groupAt(unsigned dim) {
  TransposeTile::Group group{dim, dim + 1, spine[dim]};
  auto joined = [&](unsigned first) {
    return llvm::all_of(maps,
                        [&](AffineMap map) { return areJoined(map, first); });
  };
  while (group.first > 0 && joined(group.first - 1))
    group.size *= spine[--group.first];
  while (group.last < spine.size() && joined(group.last - 1))
    group.size *= spine[group.last++];
  return group;
}

static int64_t vectorFor(int64_t size, int64_t bytes) {
  int64_t vector = std::max<int64_t>(1, kAccessBytes / bytes);
  while (size % vector)
    vector /= 2;
  return vector;
}

/// All columns of a run of rows.
bool Finder::chooseRun(TransposeTile &tile) {
  int64_t rowVector = tile.rows.vector, count = tile.columns.size;
  int64_t repeats = 1;
  while ((repeats * rowVector * count) % tile.columns.vector)
    repeats *= 2;
  tile.warps = threads ? threads / 32 : 4;
  tile.rows.tile = 32 * tile.warps * rowVector * repeats;
  tile.columns.tile = count;
  tile.isInterleaved = true;
  return repeats * rowVector * count <= kMostElements;
}

bool Finder::chooseSizes(TransposeTile &tile) {
  int64_t bytes = 1;
  for (const TurnedRead &read : tile.turned)
    bytes = std::max(bytes, read.bytes);
  // What is not read as a permutation is broadcast or gathered: equal on both
  // sides.
  tile.turnsOutputs =
      tile.straight.empty() && form.outputs.size() <= tile.turned.size();
  bool isAdjacent = tile.rows.last == tile.columns.first;
  tile.rows.vector = vectorFor(tile.rows.size, bytes);
  // A run starts at a multiple of the rows' vector.
  tile.columns.vector = vectorFor(tile.columns.size < kFewColumns && isAdjacent
                                      ? tile.rows.size * tile.columns.size
                                      : tile.columns.size,
                                  outputBytes);
  if (tile.columns.size < kFewColumns) {
    if (!isAdjacent || !chooseRun(tile))
      return false;
  } else {
    auto side = [](int64_t size, int64_t bytes) {
      int64_t wanted =
          std::clamp(kLineBytes / bytes, 2 * kLeastTile, kMostTile);
      return std::clamp<int64_t>(llvm::PowerOf2Ceil(size), kLeastTile, wanted);
    };
    tile.rows.tile = side(tile.rows.size, bytes);
    tile.columns.tile = side(tile.columns.size, outputBytes);
    tile.warps = threads ? threads / 32 : 8;
    // Every thread has something to move.
    int64_t share = tile.rows.tile * tile.columns.tile / (32 * tile.warps);
    if (!share)
      return false;
    tile.rows.vector = std::min(tile.rows.vector, share);
    tile.columns.vector = std::min(tile.columns.vector, share);
  }
  int64_t shared = 0;
  auto addShared = [&](int64_t bytes) {
    shared += tile.pitch(bytes) * tile.columns.tile * bytes;
  };
  if (tile.turnsOutputs)
    for (const RegionOutput &output : form.outputs)
      addShared(bytesOf(output.value.getType()));
  else
    for (const TurnedRead &read : tile.turned)
      addShared(read.bytes);
  return shared <= kSharedBytes;
}

std::optional<TransposeTile> Finder::run() {
  if (form.kind != KernelKind::Pointwise || spine.size() < 2 ||
      llvm::any_of(spine, ShapedType::isDynamic) ||
      llvm::is_contained(spine, 0))
    return std::nullopt;
  for (const RegionOutput &output : form.outputs)
    if (!output.index.isIdentity())
      return std::nullopt;
  collect();
  std::optional<unsigned> column = innermost(form.outputs.front().index, spine);
  if (!column)
    return std::nullopt;
  TransposeTile tile;
  tile.columns = groupAt(*column);
  auto isColumn = [&](unsigned dim) {
    return dim >= tile.columns.first && dim < tile.columns.last;
  };
  std::optional<unsigned> row;
  for (const TurnedRead &read : reads) {
    unsigned dim = *innermost(read.map, spine);
    bool isTurned = !isColumn(dim) && (!row || *row == dim);
    (isTurned ? tile.turned : tile.straight).push_back(read);
    if (isTurned)
      row = dim;
  }
  if (!row)
    return std::nullopt;
  tile.rows = groupAt(*row);
  if (tile.rows.size < kFewColumns || !chooseSizes(tile))
    return std::nullopt;
  return tile;
}

int64_t TransposeTile::pitch(int64_t bytes) const {
  if (isInterleaved)
    return rows.tile + kRunPadding / bytes;
  // An odd number of words.
  return isSwizzled() ? rows.tile : rows.tile + std::max<int64_t>(1, 4 / bytes);
}

std::optional<TransposeTile> analysis::tileTranspose(FactTable &facts,
                                                     const RegionForm &form,
                                                     int64_t threads) {
  return Finder(facts, form, threads).run();
}
