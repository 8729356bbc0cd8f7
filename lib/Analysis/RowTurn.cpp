//===- RowTurn.cpp - rows whose outputs lie across them -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowTurn.h"
#include "Sizes.h"
#include "fusec/Analysis/TransposeTile.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Both sides of a tile are runs of a line of memory if they can be, and the
// written one of a sector (what is moved at once) at least.
static constexpr int64_t kLineBytes = 128, kSectorBytes = 32;
// Static shared memory of a block; states of reductions are beside it.
static constexpr int64_t kSharedBytes = 40 * 1024;
// Elements of a thread, of which the last figure is for rows so long that 1024
// threads have no fewer.
static constexpr int64_t kWantedElements = 32, kMostElements = 64;
static constexpr int64_t kWantedWarps = 8, kMostWarps = 32;

static int64_t bytesOf(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return ceilDiv(element.getIntOrFloatBitWidth(), 8);
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The parallel dim along which `output` is contiguous, while rows are not.
static std::optional<unsigned> turnedDim(const RegionForm &form,
                                         const RegionOutput &output) {
  if (output.isUniform || output.isColumn)
    return std::nullopt;
  unsigned parallel = form.parallel.size(), dims = form.spine().size();
  auto isInner = [&](unsigned dim) {
    return form.spine()[dim] > 1 &&
           strideAlong(output.index, shapeOf(output.value), dim) == 1;
  };
  for (unsigned dim = parallel; dim < dims; ++dim)
    if (isInner(dim))
      return std::nullopt;
  for (unsigned dim = 0; dim < parallel; ++dim)
    if (isInner(dim) &&
        form.parallel[dim] * bytesOf(output.value) >= kSectorBytes)
      return dim;
  return std::nullopt;
}

namespace {
/// The tile: rows along the turned dim x neighbouring rows in memory.
class Turner {
public:
  Turner(const RegionForm &form, const AccessFacts &access, RowTiling tiling)
      : form(form), access(access), tiling(tiling),
        columns(product(form.reduced)) {}
  bool findOutputs();
  void chooseRows(int64_t blocksWanted);
  bool chooseThreads();
  RowTiling result() const { return tiling; }

private:
  int64_t blocks() const;
  int64_t sharedBytes() const;

  const RegionForm &form;
  const AccessFacts &access;
  RowTiling tiling;
  int64_t columns;
  int64_t widest = 1; // bytes of an element of the turned outputs
};
} // namespace

bool Turner::findOutputs() {
  RowTurn turn;
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    std::optional<unsigned> dim = turnedDim(form, output);
    if (!dim || (!turn.outputs.empty() && turn.dim != *dim))
      continue;
    turn.dim = *dim;
    turn.outputs.push_back(i);
    widest = std::max(widest, bytesOf(output.value));
  }
  if (turn.outputs.empty())
    return false;
  tiling.turn = turn;
  return true;
}

int64_t Turner::blocks() const {
  const RowTurn &turn = *tiling.turn;
  int64_t count = 1;
  for (auto [dim, size] : llvm::enumerate(form.parallel))
    count *= dim == turn.dim      ? ceilDiv(size, turn.along)
             : dim == turn.beside ? ceilDiv(size, turn.besideRows)
                                  : size;
  return count;
}

int64_t Turner::sharedBytes() const {
  const RowTurn &turn = *tiling.turn;
  // Columns may be padded.
  int64_t column = 0;
  for (unsigned output : turn.outputs) {
    int64_t bytes = bytesOf(form.outputs[output].value);
    column += paddedPitch(turn.along, bytes) * bytes;
  }
  return turn.besideRows * columns * column;
}

/// Lines where there are enough blocks and shared memory, else shorter runs.
void Turner::chooseRows(int64_t blocksWanted) {
  RowTurn &turn = *tiling.turn;
  int64_t least = std::max<int64_t>(1, kSectorBytes / widest);
  turn.along = std::max<int64_t>(least, kLineBytes / widest);
  turn.beside = turn.dim;
  for (unsigned dim = form.parallel.size(); dim-- > 0;)
    if (dim != turn.dim && form.parallel[dim] > 1) {
      turn.beside = dim;
      break;
    }
  if (turn.beside != turn.dim) {
    int64_t rowBytes = columns * std::max<int64_t>(1, access.inputBytes);
    while (turn.besideRows * rowBytes < kLineBytes &&
           turn.besideRows < form.parallel[turn.beside])
      turn.besideRows *= 2;
  }
  while (turn.along > least &&
         (sharedBytes() > kSharedBytes || blocks() < blocksWanted ||
          turn.along / 2 >= form.parallel[turn.dim]))
    turn.along /= 2;
}

bool Turner::chooseThreads() {
  RowTurn &turn = *tiling.turn;
  int64_t rows = turn.along * turn.besideRows, rowsOfWarp = 32 / tiling.lanes;
  int64_t each = tiling.vector * tiling.repeats;
  if (rows < rowsOfWarp)
    return false;
  auto elements = [&](int64_t rowWarps) {
    return rows / (rowsOfWarp * rowWarps) * each;
  };
  tiling.rowWarps = 1;
  auto fits = [&](int64_t warps) {
    return 2 * tiling.rowWarps * tiling.columnWarps <= warps &&
           rows / rowsOfWarp % (2 * tiling.rowWarps) == 0;
  };
  while (fits(kWantedWarps) ||
         (fits(kMostWarps) && elements(tiling.rowWarps) > kWantedElements))
    tiling.rowWarps *= 2;
  tiling.rowRepeats = rows / (rowsOfWarp * tiling.rowWarps);
  return elements(tiling.rowWarps) <= kMostElements &&
         sharedBytes() <= kSharedBytes;
}

std::optional<RowTiling> analysis::turnRows(const RegionForm &form,
                                            const AccessFacts &access,
                                            RowTiling whole,
                                            const TargetInfo &target) {
  Turner turner(form, access, whole);
  if (product(form.reduced) > whole.columns() || !turner.findOutputs())
    return std::nullopt;
  turner.chooseRows(target.multiprocessors);
  if (!turner.chooseThreads())
    return std::nullopt;
  return turner.result();
}
