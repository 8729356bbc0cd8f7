//===- TransposeTile.cpp - tiles of regions that transpose ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/TransposeTile.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Both sides of a tile are runs of 256 bytes of memory, as those of f32 that
// reach the speed of a copy where 128 bytes of bf16 lose 7 %
// (benchmarks/results/2026-11-30-memory.md); shorter where that leaves too few
// blocks or takes too much shared memory.
static constexpr int64_t kLongRun = 256, kShortRun = 128;
// Two for each multiprocessor.
static constexpr int64_t kManyBlocks = 256;
// Where a launch is shared, fewer blocks of more elements a thread are long
// texts that few multiprocessors run.
static constexpr int64_t kFewBlocks = 8;
static constexpr int64_t kAccessBytes = 16;
// What the L2 moves at once.
static constexpr int64_t kSectorBytes = 32;
// Accesses of fewer bytes a lane are not worth a tile without images.
static constexpr int64_t kNarrowBytes = 4;
// What a thread moves.
static constexpr int64_t kThreadBytes = 64;
static constexpr int64_t kLeastTile = 32, kMostTile = 128;
// Below this many, columns are taken whole.
static constexpr int64_t kFewColumns = 16;
// Elements of a thread where outputs are written as one run.
static constexpr int64_t kMostElements = 64;
// Static shared memory of a block, of which five run on a multiprocessor.
static constexpr int64_t kSharedBytes = 42 * 1024;
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
  SmallVector<int64_t> stridesOf(AffineMap map);
  bool isWhole(const TurnedRead &read) const;
  bool allWhole(ArrayRef<TurnedRead> reads) const {
    return llvm::all_of(reads,
                        [&](const TurnedRead &read) { return isWhole(read); });
  }
  bool chooseSizes(TransposeTile &tile);
  bool chooseRun(TransposeTile &tile);
  void chooseSides(TransposeTile &tile, int64_t bytes, int64_t run);
  bool chooseTile(TransposeTile &tile, int64_t bytes, int64_t run);
  bool chooseImages(TransposeTile &tile, int64_t bytes, int64_t run);
  int64_t sharedBytes(const TransposeTile &tile);
  int64_t blocks(const TransposeTile &tile);

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
        TurnedRead read{operand, map, bytesOf(operand.getType()),
                        stridesOf(map)};
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

/// Elements between neighbours along each dim of the spine in a tensor that a
/// permutation reads.
SmallVector<int64_t> Finder::stridesOf(AffineMap map) {
  SmallVector<int64_t> result(spine.size());
  int64_t stride = 1;
  for (AffineExpr expr : llvm::reverse(map.getResults())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    result[dim] = stride;
    stride *= spine[dim];
  }
  return result;
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

/// Lengths of the sides, for elements of at most `bytes`.
void Finder::chooseSides(TransposeTile &tile, int64_t bytes, int64_t run) {
  auto side = [&](int64_t size, int64_t bytes) {
    int64_t wanted = std::clamp(run / bytes, 2 * kLeastTile, kMostTile);
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(size), kLeastTile, wanted);
  };
  tile.rows.tile = side(tile.rows.size, bytes);
  tile.columns.tile = side(tile.columns.size + tile.lead, outputBytes);
  if (threads && blocks(tile) < kFewBlocks)
    tile.rows.tile = tile.columns.tile = kLeastTile;
  int64_t moved = tile.rows.tile * tile.columns.tile * bytes;
  tile.warps = threads ? threads / 32 : moved > 256 * kThreadBytes ? 16 : 8;
}

int64_t Finder::blocks(const TransposeTile &tile) {
  int64_t result = 1;
  for (int64_t size : spine)
    result *= size;
  return result / (tile.rows.tile * tile.columns.tile);
}

/// Both sides are whole vectors or become single elements.
bool Finder::chooseTile(TransposeTile &tile, int64_t bytes, int64_t run) {
  chooseSides(tile, bytes, run);
  // Every thread has something to move.
  int64_t share = tile.rows.tile * tile.columns.tile / (32 * tile.warps);
  if (!share)
    return false;
  tile.rows.vector = std::min(vectorFor(tile.rows.size, bytes), share);
  tile.columns.vector =
      std::min(vectorFor(tile.columns.size, outputBytes), share);
  return sharedBytes(tile) <= kSharedBytes;
}

/// Whether the points of the spine are the elements of the input; a padded one
/// has fewer.
bool Finder::isWhole(const TurnedRead &read) const {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(read.input.getType()).getShape();
  return llvm::all_of(llvm::zip(read.map.getResults(), shape), [&](auto pair) {
    auto [expr, size] = pair;
    return spine[cast<AffineDimExpr>(expr).getPosition()] == size;
  });
}

/// Vectors start anywhere along rows or columns.
bool Finder::chooseImages(TransposeTile &tile, int64_t bytes, int64_t run) {
  if (!allWhole(tile.turned))
    return false;
  int64_t vector = kAccessBytes / outputBytes;
  tile.lead = tile.columns.size % vector ? kSectorBytes / outputBytes : 0;
  chooseSides(tile, bytes, run);
  tile.columns.vector = vector;
  tile.turnsOutputs = false;
  // Copies take no registers.
  if (!threads)
    tile.warps = 8;
  int64_t elements = tile.rows.tile * tile.columns.tile;
  while (!threads && elements < 32 * tile.warps * vector)
    tile.warps /= 2;
  if (elements < 32 * tile.warps * vector)
    return false;
  for (const TurnedRead &read : tile.turned) {
    TileImage image;
    image.vector = kAccessBytes / read.bytes;
    image.vectors = tile.rows.tile / image.vector + 1;
    image.pitch = image.vectors * image.vector;
    int64_t stride = read.strides[tile.columns.last - 1];
    image.pitch += stride % image.vector;
    // Eight lanes read columns that are a vector apart: in other groups of four
    // banks unless their distance in words has a factor of 8.
    if (vector * image.pitch * read.bytes % 32 == 0)
      image.skewEvery = vector;
    tile.images.push_back(image);
  }
  return sharedBytes(tile) <= kSharedBytes;
}

int64_t Finder::sharedBytes(const TransposeTile &tile) {
  int64_t shared = 0;
  for (auto [read, image] : llvm::zip(tile.turned, tile.images))
    shared += tile.imageSize(image) * read.bytes;
  if (!tile.images.empty())
    return shared;
  auto add = [&](int64_t bytes) {
    shared += tile.pitch(bytes) * tile.columns.tile * bytes;
  };
  if (tile.turnsOutputs)
    for (const RegionOutput &output : form.outputs)
      add(bytesOf(output.value.getType()));
  else
    for (const TurnedRead &read : tile.turned)
      add(read.bytes);
  return shared;
}

bool Finder::chooseSizes(TransposeTile &tile) {
  int64_t bytes = 1;
  for (const TurnedRead &read : tile.turned)
    bytes = std::max(bytes, read.bytes);
  // What is not read as a permutation is broadcast or gathered: equal on both
  // sides.
  tile.turnsOutputs =
      tile.straight.empty() && form.outputs.size() <= tile.turned.size();
  // Tiles are loaded by the bounds of the spine.
  if (!tile.turnsOutputs && !allWhole(tile.turned))
    return false;
  llvm::erase_if(tile.straight,
                 [&](const TurnedRead &read) { return !isWhole(read); });
  if (tile.columns.size < kFewColumns) {
    if (tile.rows.last != tile.columns.first)
      return false;
    tile.rows.vector = vectorFor(tile.rows.size, bytes);
    // A run starts at a multiple of the rows' vector.
    tile.columns.vector =
        vectorFor(tile.rows.size * tile.columns.size, outputBytes);
    return chooseRun(tile) && sharedBytes(tile) <= kSharedBytes;
  }
  bool isNarrow = std::min(vectorFor(tile.rows.size, bytes) * bytes,
                           vectorFor(tile.columns.size, outputBytes) *
                               outputBytes) <= kNarrowBytes;
  // Images first, then long runs first.
  for (bool hasImages : {true, false})
    for (int64_t run : {kLongRun, kShortRun}) {
      if (hasImages && !isNarrow)
        continue;
      TransposeTile tried = tile;
      bool fits = hasImages ? chooseImages(tried, bytes, run)
                            : chooseTile(tried, bytes, run);
      if (!fits || (run == kLongRun && blocks(tried) < kManyBlocks))
        continue;
      tile = tried;
      return true;
    }
  return false;
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
  tile.outputStrides = stridesOf(form.outputs.front().index);
  if (tile.rows.size < kFewColumns || !chooseSizes(tile))
    return std::nullopt;
  return tile;
}

int64_t TransposeTile::pitch(int64_t bytes) const {
  if (isInterleaved)
    return rows.tile + kRunPadding / bytes;
  return isSwizzled() ? rows.tile : paddedPitch(rows.tile, bytes);
}

std::optional<TransposeTile> analysis::tileTranspose(FactTable &facts,
                                                     const RegionForm &form,
                                                     int64_t threads) {
  return Finder(facts, form, threads).run();
}
