//===- RowTiling.cpp - how a row region is cut into blocks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/RowTiling.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Elements of a row that a thread keeps in registers. 32 f32 and the work on
// them fit the 64 registers that 1024 threads a block leave each; long rows
// take more threads first and are walked in chunks beyond that.
static constexpr int64_t kMaxElements = 32;
static constexpr int64_t kWantedElements = 16;
static constexpr int64_t kMaxThreads = 1024;

// Split columns: four blocks of 256 threads on a multiprocessor, each thread
// with 64 bytes on their way: 64 KB, and 48 saturate its share of the memory.
// One wave, so that all end together. A block should stream 64 KB at least:
// less is mostly start and end.
static constexpr int64_t kSplitWarps = 8;
static constexpr int64_t kSplitBlocks = 4;
static constexpr int64_t kSplitThreadBytes = 64;
static constexpr int64_t kSplitBytes = 64 * 1024;
static constexpr int64_t kMaxUnroll = 8;

//===----------------------------------------------------------------------===//
// Access facts
//===----------------------------------------------------------------------===//

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int64_t analysis::strideAlong(AffineMap map, ArrayRef<int64_t> shape,
                              unsigned dim) {
  SmallVector<int64_t> origin(map.getNumDims(), 0), next = origin;
  next[dim] = 1;
  auto linear = [&](ArrayRef<int64_t> at) {
    SmallVector<int64_t> index = map.compose(at);
    int64_t offset = 0;
    for (auto [i, size] : llvm::zip(index, shape))
      offset = offset * size + i;
    return offset;
  };
  return linear(next) - linear(origin);
}

static void addAccess(AccessFacts &result, const RegionForm &form,
                      AffineMap map, RankedTensorType type) {
  unsigned parallel = form.parallel.size(), reduced = form.reduced.size();
  std::optional<DType> dtype = graph::toDType(type.getElementType());
  if (!map || !type.hasStaticShape() || !dtype)
    return;
  double bytes = double(type.getNumElements()) * byteSize(*dtype);
  if (reduced && strideAlong(map, type.getShape(), parallel + reduced - 1) == 1)
    result.reducedContiguous += bytes;
  if (parallel && strideAlong(map, type.getShape(), parallel - 1) == 1)
    result.parallelContiguous += bytes;
}

AccessFacts analysis::accessFacts(FactTable &facts, const RegionForm &form) {
  AccessFacts result;
  int64_t points = product(form.spine());
  int64_t narrowest = 16;
  auto note = [&](AffineMap map, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    addAccess(result, form, map, type);
    if (type.hasStaticShape() && type.getNumElements() * 2 >= points)
      if (std::optional<DType> dtype = graph::toDType(type.getElementType()))
        narrowest = std::min<int64_t>(narrowest, byteSize(*dtype));
  };
  llvm::SmallPtrSet<Operation *, 16> inside(form.ops.begin(), form.ops.end());
  llvm::DenseMap<Operation *, AffineMap> loops;
  for (const RegionStage &stage : form.stages)
    loops[stage.op] = stage.loops;
  for (Operation *op : form.ops) {
    const OpFacts *fact = facts.get(op);
    auto placed = form.placements.find(op);
    if (!fact || placed == form.placements.end())
      continue;
    AffineMap at = loops.lookup(op);
    if (!at && !placed->second.reads.empty())
      at = placed->second.reads.front();
    for (auto [operand, access] :
         llvm::zip(op->getOperands(), fact->space.operands)) {
      Operation *producer = operand.getDefiningOp();
      if ((!producer || !inside.contains(producer)) && at && access.map)
        note(access.map.compose(at), operand);
    }
  }
  for (const RegionOutput &output : form.outputs)
    note(output.index, output.value);
  result.elementBytes = narrowest == 16 ? 4 : narrowest;
  return result;
}

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

static int64_t vectorAlong(int64_t inner, int64_t bytes, int64_t limit) {
  int64_t vector = std::max<int64_t>(1, 16 / bytes);
  while (vector > 1 && (inner % vector || vector > limit))
    vector /= 2;
  return vector;
}

bool analysis::canSplit(const RegionForm &form) {
  auto levelOf = [&](Operation *op) -> unsigned {
    auto placed = form.placements.find(op);
    return placed == form.placements.end() ? 0 : placed->second.level;
  };
  return llvm::all_of(form.stages,
                      [](const RegionStage &s) { return s.level == 0; }) &&
         llvm::all_of(form.outputs, [&](const RegionOutput &output) {
           return output.isUniform || !output.value.getDefiningOp() ||
                  levelOf(output.value.getDefiningOp()) == 0;
         });
}

namespace {
/// The choice for one region.
class Chooser {
public:
  Chooser(const RegionForm &form, const AccessFacts &access,
          const TargetInfo &target, int64_t threads)
      : form(form), access(access), target(target), threads(threads),
        rows(product(form.parallel)),
        // At least two columns, so that a row and its reduction differ in
        // shape; what a row does not have is masked.
        columns(std::max<int64_t>(product(form.reduced), 2)) {}

  RowTiling run();

private:
  RowTiling alongRow(int64_t vector, bool split);
  RowTiling acrossRows(int64_t vector, bool split);
  void addSplits(RowTiling &tiling);
  /// Few blocks without a split.
  bool isStarved(const RowTiling &tiling) const {
    return tiling.blocks(rows) < 2 * int64_t(target.multiprocessors);
  }

  const RegionForm &form;
  const AccessFacts &access;
  const TargetInfo &target;
  int64_t threads, rows, columns;
};
} // namespace

RowTiling Chooser::alongRow(int64_t vector, bool split) {
  RowTiling result;
  result.vector = vector;
  int64_t groups = llvm::divideCeil(columns, vector);
  result.lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(groups));
  int64_t rowsPerWarp = 32 / result.lanes;
  // One accumulator per element: a split row keeps a vector of them.
  int64_t most = split ? vector : kMaxElements;
  if (split) {
    result.columnWarps = kSplitWarps;
  } else if (result.lanes == 32) {
    while (result.columnWarps * 32 < kMaxThreads &&
           columns > result.columnWarps * 32 * kWantedElements)
      result.columnWarps *= 2;
  }
  int64_t span = vector * result.lanes * result.columnWarps;
  result.repeats = std::min(llvm::divideCeil(columns, uint64_t(span)),
                            uint64_t(std::max<int64_t>(1, most / vector)));
  // Short rows: several warps a block, while blocks still fill the machine.
  while (result.columnWarps * result.rowWarps * 2 <= 8 &&
         rows / (rowsPerWarp * result.rowWarps * 2) >=
             int64_t(target.multiprocessors))
    result.rowWarps *= 2;
  if (threads)
    result.rowWarps = threads / (32 * result.columnWarps);
  return result;
}

RowTiling Chooser::acrossRows(int64_t vector, bool split) {
  RowTiling result;
  result.across = true;
  result.vector = vector;
  result.lanes = 1;
  // Narrower vectors while there are too few blocks.
  while (!split && result.vector > 1 &&
         rows / (32 * result.vector) < int64_t(target.multiprocessors))
    result.vector /= 2;
  while (split && result.vector > 1 && rows <= 16 * result.vector)
    result.vector /= 2;
  result.columnWarps =
      threads ? threads / 32
              : std::min<int64_t>(
                    8, llvm::PowerOf2Ceil(llvm::divideCeil(columns, 4)));
  int64_t most = split ? result.vector : kMaxElements;
  result.repeats =
      std::min(llvm::divideCeil(columns, uint64_t(result.columnWarps)),
               uint64_t(std::max<int64_t>(1, most / result.vector)));
  return result;
}

/// Cuts the columns into equal runs of whole chunks.
void Chooser::addSplits(RowTiling &tiling) {
  tiling.unroll =
      std::clamp<int64_t>(kSplitThreadBytes / (tiling.vector * tiling.repeats *
                                               access.elementBytes),
                          1, kMaxUnroll);
  int64_t rowBlocks = tiling.blocks(rows);
  int64_t wanted = llvm::divideCeil(
      kSplitBlocks * int64_t(target.multiprocessors), uint64_t(rowBlocks));
  int64_t chunk = tiling.columns() * tiling.unroll;
  int64_t chunkBytes = tiling.rows() * chunk * access.elementBytes;
  int64_t chunks = llvm::divideCeil(columns, uint64_t(chunk));
  int64_t perBlock = std::max<int64_t>(
      {1, int64_t(llvm::divideCeil(kSplitBytes, uint64_t(chunkBytes))),
       int64_t(llvm::divideCeil(chunks, uint64_t(wanted)))});
  tiling.splits = llvm::divideCeil(chunks, uint64_t(perBlock));
  tiling.columnsPerSplit = perBlock * chunk;
}

RowTiling Chooser::run() {
  int64_t innerColumns = form.reduced.empty() ? 1 : form.reduced.back();
  int64_t innerRows = form.parallel.empty() ? 1 : form.parallel.back();
  bool across =
      access.parallelContiguous > access.reducedContiguous && innerRows >= 8;
  int64_t vector =
      vectorAlong(across ? innerRows : innerColumns, access.elementBytes, 8);
  auto make = [&](bool split) {
    return across ? acrossRows(vector, split) : alongRow(vector, split);
  };
  RowTiling whole = make(false);
  whole.columnsPerSplit = columns;
  if (threads || !rows || !isStarved(whole) || !canSplit(form))
    return whole;
  RowTiling split = make(true);
  addSplits(split);
  return split.splits > 1 && split.blocks(rows) > whole.blocks(rows) ? split
                                                                     : whole;
}

RowTiling analysis::tileRows(const RegionForm &form, const AccessFacts &access,
                             const TargetInfo &target, int64_t threads) {
  return Chooser(form, access, target, threads).run();
}
