//===- RowRun.cpp - short rows of odd length ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowRun.h"
#include "Sizes.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

static constexpr int64_t kVectorBytes = 16;
// Banks of shared memory are words.
static constexpr int64_t kWordBytes = 4;
// Elements of a lane in words at most: 24 of 769 and an end took LayerNorm 109
// us, 25 single ones 105.
static constexpr int64_t kMostInWords = 8;
// Static shared memory of a block, of which states of reductions take what is
// left of 48 KB.
static constexpr int64_t kSharedBytes = 44 * 1024;
// Elements of a thread: whole rows in its registers, and several where they are
// short, which wait for each other's shuffles together.
static constexpr int64_t kWantedElements = 24, kMostElements = 32;
static constexpr int64_t kWarps = 8, kMostWarps = 32;

static int64_t bytesOf(Type type) {
  return ceilDiv(cast<RankedTensorType>(type).getElementTypeBitWidth(), 8);
}

SmallVector<RunBuffer, 4> analysis::runBuffers(const RegionForm &form) {
  SmallVector<RunBuffer, 4> result;
  int64_t points = product(form.spine());
  auto isFull = [&](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() >= points;
  };
  for (Operation *op : form.ops)
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand) && isFull(operand) &&
          llvm::none_of(result, [&](const RunBuffer &buffer) {
            return buffer.input == operand;
          }))
        result.push_back({operand, std::nullopt, operand.getType()});
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    if (output.isUniform || output.isColumn)
      continue;
    auto element = [](Type type) {
      return cast<RankedTensorType>(type).getElementType();
    };
    auto *shared = llvm::find_if(result, [&](const RunBuffer &buffer) {
      return !buffer.output &&
             element(buffer.type) == element(output.value.getType());
    });
    if (shared == result.end())
      result.push_back({Value(), unsigned(i), output.value.getType()});
    else
      shared->output = unsigned(i);
  }
  return result;
}

/// Makes a lane take whole words of the narrowest elements, where that leaves
/// it no more elements. Rows may start within a word: their two ends are apart
/// then, at most one of them a lane. 129 bf16 are two words a lane and one end,
/// or five single elements; 127 are four, or two words and an end.
static void takeWords(RowTiling &tiling, int64_t columns, int64_t bytes) {
  int64_t word = std::max<int64_t>(1, kWordBytes / bytes);
  RowTiling words = tiling;
  words.vector = word;
  words.edges = columns % word ? 2 * word - 2 : 0;
  int64_t elements = ceilDiv(words.body(columns), 32 * word) * word;
  if (tiling.lanes == 32 && words.leastBody(columns) >= 32 * word &&
      elements <= kMostInWords &&
      elements + (words.edges > 0) <= ceilDiv(columns, 32))
    tiling = words;
}

std::optional<RowTiling> analysis::runRows(const RegionForm &form,
                                           const AccessFacts &access,
                                           RowTiling whole,
                                           const TargetInfo &target) {
  int64_t columns = product(form.reduced), rows = product(form.parallel);
  if (!access.isDense)
    return std::nullopt;
  RowTiling result = whole;
  takeWords(result, columns, access.elementBytes);
  int64_t body = result.body(columns);
  auto vectors = [&] {
    return ceilDiv(body, result.vector * result.lanes * result.columnWarps);
  };
  result.columnWarps = 1;
  while (vectors() * result.vector > kMostElements)
    result.columnWarps *= 2;
  if (result.columnWarps > kMostWarps)
    return std::nullopt;
  result.repeats = vectors();
  result.columnsPerSplit = columns;
  result.rowWarps = std::max<int64_t>(1, kWarps / result.columnWarps);
  result.rowRepeats = 1;
  SmallVector<RunBuffer, 4> buffers = runBuffers(form);
  // Each buffer has room for whole rounds of copies.
  auto sharedBytes = [&](const RowTiling &tiling) {
    int64_t elements = tiling.rows() * columns, result = 0;
    for (const RunBuffer &buffer : buffers)
      result += int64_t(llvm::alignTo(elements * bytesOf(buffer.type),
                                      tiling.threads() * kVectorBytes));
    return result;
  };
  // In registers and shared memory, and on all multiprocessors.
  auto fits = [&](const RowTiling &tiling, int64_t elements) {
    return tiling.vector * tiling.repeats * tiling.rowRepeats <= elements &&
           sharedBytes(tiling) <= kSharedBytes &&
           tiling.blocks(rows) >= 2 * int64_t(target.multiprocessors);
  };
  // Rows to a whole number of vectors.
  int64_t widest = kVectorBytes / access.elementBytes;
  while (result.rows() * columns % widest)
    result.rowRepeats *= 2;
  if (!fits(result, kMostElements))
    return std::nullopt;
  for (RowTiling more = result; fits(more, kWantedElements);
       more.rowRepeats *= 2)
    result = more;
  result.isRun = true;
  return result;
}
