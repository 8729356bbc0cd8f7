//===- ColumnTiling.cpp - rows whose columns are summed, too --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/ColumnTiling.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// 1024 threads on a multiprocessor, each with 64 registers (or half as many
// with twice the registers), of which these hold addresses, masks and what the
// arithmetic needs by itself.
static constexpr int64_t kThreads = 1024;
static constexpr int64_t kRegisters = 64;
static constexpr int64_t kOtherRegisters = 16;
// Threads of a block, where rows are short: two blocks take turns.
static constexpr int64_t kBlockThreads = 512;
// Elements of a thread; as in any row.
static constexpr int64_t kMaxElements = 16;
// Shared memory in which the rows of a block meet, of 48 KB.
static constexpr int64_t kExchangeBytes = 32 * 1024;
// Shared memory of a multiprocessor for rows to come. 48 KB on their way keep
// the memory busy; those that are worked on have places, too.
static constexpr int64_t kRingBytes = 96 * 1024;
static constexpr int64_t kMostStages = 4;
// What the hardware copies in the background at least, in bytes.
static constexpr int64_t kLeastCopy = 4;

namespace {
/// What each element of a row costs a thread, in bytes.
struct Footprint {
  /// States of the columns, inputs of full size, inputs of one row's size.
  int64_t states = 0, full = 0, column = 0;

  /// Registers, with one for the arithmetic; of inputs of full size the next
  /// rows' if they are loaded ahead.
  int64_t perElement(bool loadsAhead) const {
    return llvm::divideCeil(states + (loadsAhead ? 2 : 1) * full + column + 4,
                            4);
  }
};
} // namespace

static Footprint footprintOf(FactTable &facts, const RegionForm &form) {
  Footprint result;
  for (const RegionStage &stage : form.columns)
    for (Type type :
         cast<graph::ReductionOpInterface>(stage.op).getStateTypes())
      result.states += std::max<int64_t>(
          4, llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
  unsigned parallel = form.parallel.size(), dims = form.spine().size();
  llvm::SmallPtrSet<Value, 8> seen;
  llvm::SmallPtrSet<Operation *, 16> inside(form.ops.begin(), form.ops.end());
  for (Operation *op : form.ops) {
    const OpFacts *fact = facts.get(op);
    auto placed = form.placements.find(op);
    if (!fact || placed == form.placements.end() || placed->second.isUniform)
      continue;
    for (auto [operand, access] :
         llvm::zip(op->getOperands(), fact->space.operands)) {
      auto type = cast<RankedTensorType>(operand.getType());
      std::optional<DType> dtype = graph::toDType(type.getElementType());
      if (inside.contains(operand.getDefiningOp()) || !dtype ||
          !seen.insert(operand).second)
        continue;
      AffineMap read = placed->second.reads.empty()
                           ? AffineMap()
                           : placed->second.reads.front();
      bool isStage = fact->opClass != OpClass::Inlined;
      if (!isStage && read && access.map && !access.isIndirect)
        read = access.map.compose(read);
      bool isFull = isStage || !read || usesDimIn(read, 0, parallel);
      bool isAlong = isStage || !read || usesDimIn(read, parallel, dims);
      if (isAlong)
        (isFull ? result.full : result.column) += byteSize(*dtype);
    }
  }
  return result;
}

/// The digits for `threads` threads of a multiprocessor, which share its
/// registers.
static std::optional<ColumnTiling> tileFor(int64_t threads,
                                           const AccessFacts &access,
                                           const Footprint &footprint,
                                           const RegionForm &form) {
  int64_t columns = 1;
  for (int64_t size : form.reduced)
    columns *= size;
  int64_t registers = kRegisters * kThreads / threads - kOtherRegisters;
  ColumnTiling result;
  result.stateBytes = footprint.states;
  result.row.columnsPerSplit = columns;
  int64_t vector =
      vectorAlong(form.reduced.back(), access.elementBytes, /*limit=*/8);
  for (bool loadsAhead : {true, false}) {
    int64_t most =
        std::min(kMaxElements, registers / footprint.perElement(loadsAhead));
    RowTiling &row = result.row;
    row.vector = std::min<int64_t>(vector, llvm::bit_floor(uint64_t(most)));
    if (!row.vector)
      continue;
    result.loadsAhead = loadsAhead;
    most -= most % row.vector;
    int64_t groups = llvm::divideCeil(columns, uint64_t(row.vector));
    row.lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(groups));
    row.columnWarps = 1;
    while (row.columnWarps * 32 < threads &&
           columns > row.columnWarps * row.lanes * most)
      row.columnWarps *= 2;
    int64_t span = row.vector * row.lanes * row.columnWarps;
    row.repeats = llvm::divideCeil(columns, uint64_t(span));
    if (row.vector * row.repeats > most)
      continue;
    row.rowWarps = 1;
    while (row.threads() < kBlockThreads &&
           row.threads() * 2 * row.vector * row.repeats * footprint.states <=
               kExchangeBytes)
      row.rowWarps *= 2;
    result.resident = threads / row.threads();
    int64_t stageBytes =
        row.threads() * row.vector * row.repeats * footprint.full;
    if (row.vector * access.elementBytes >= kLeastCopy && stageBytes)
      result.stages =
          std::min(kMostStages, kRingBytes / (result.resident * stageBytes));
    if (result.stages < 2)
      result.stages = 0;
    return result;
  }
  return std::nullopt;
}

std::optional<ColumnTiling> analysis::tileColumns(FactTable &facts,
                                                  const RegionForm &form) {
  if (form.reduced.empty() || llvm::any_of(form.spine(), ShapedType::isDynamic))
    return std::nullopt;
  AccessFacts access = accessFacts(facts, form);
  if (access.parallelContiguous > access.reducedContiguous)
    return std::nullopt;
  Footprint footprint = footprintOf(facts, form);
  // Half the threads with twice the elements took 142 us instead of 108 for a
  // LayerNorm of 8192 columns.
  return tileFor(kThreads, access, footprint, form);
}
