//===- AccessFacts.cpp - how a region lies in memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What choosing a tiling has to know of a region's reads and writes: along
// which loops memory is contiguous, how wide elements are, and how much there
// is.
//===----------------------------------------------------------------------===//
#include "RowMeeting.h"
#include "Sizes.h"
#include "fusec/Analysis/RowTiling.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

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

/// Whether `map` reads a tensor of `shape` without gaps in the order of `dims`
/// of the spine, outermost first.
static bool isLinear(const RegionForm &form, AffineMap map,
                     ArrayRef<int64_t> shape, ArrayRef<unsigned> dims) {
  SmallVector<int64_t> spine = form.spine();
  int64_t stride = 1;
  for (unsigned dim : llvm::reverse(dims)) {
    if (spine[dim] > 1 && strideAlong(map, shape, dim) != stride)
      return false;
    stride *= spine[dim];
  }
  return llvm::all_of(map.compose(SmallVector<int64_t>(spine.size(), 0)),
                      [](int64_t index) { return index == 0; });
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
  auto along = llvm::to_vector(llvm::seq<unsigned>(0, form.spine().size()));
  SmallVector<unsigned> across(along);
  std::rotate(across.begin(), across.begin() + form.parallel.size(),
              across.end());
  auto note = [&](AffineMap map, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    addAccess(result, form, map, type);
    if (!type.hasStaticShape() || type.getNumElements() * 2 < points)
      return;
    if (std::optional<DType> dtype = graph::toDType(type.getElementType()))
      narrowest = std::min<int64_t>(narrowest, byteSize(*dtype));
    result.isDense &= map && isLinear(form, map, type.getShape(), along);
  };
  llvm::SmallPtrSet<Operation *, 16> inside(form.ops.begin(), form.ops.end());
  llvm::SmallPtrSet<Value, 8> inputs;
  int64_t largest = 0;
  auto noteInput = [&](Value value, AffineMap map) {
    auto type = cast<RankedTensorType>(value.getType());
    std::optional<DType> dtype = graph::toDType(type.getElementType());
    if (!type.hasStaticShape() || type.getNumElements() * 2 < points || !dtype)
      return;
    if (inputs.insert(value).second)
      result.inputBytes += byteSize(*dtype);
    result.isDenseAcross &= map && isLinear(form, map, type.getShape(), across);
    if (map && type.getNumElements() > largest) {
      largest = type.getNumElements();
      setOrder(result, form, map, type.getShape());
    }
  };
  llvm::DenseMap<Operation *, AffineMap> loops;
  for (const RegionStage &stage : form.stages)
    loops[stage.op] = stage.loops;
  for (Operation *op : form.ops) {
    const OpFacts *fact = facts.get(op);
    auto placed = form.placements.find(op);
    if (!fact || placed == form.placements.end())
      continue;
    if (!placed->second.isUniform)
      result.instructions += fact->cost;
    AffineMap at = loops.lookup(op);
    // The first that does not depend on data.
    for (AffineMap read : placed->second.reads)
      if (!at)
        at = read;
    for (auto [operand, access] :
         llvm::zip(op->getOperands(), fact->space.operands)) {
      Operation *producer = operand.getDefiningOp();
      if (producer && inside.contains(producer))
        continue;
      AffineMap map = at && access.map ? access.map.compose(at) : AffineMap();
      noteInput(operand, map);
      if (map)
        note(map, operand);
    }
  }
  for (const RegionOutput &output : form.outputs) {
    note(output.index, output.value);
    auto type = cast<RankedTensorType>(output.value.getType());
    std::optional<DType> dtype = graph::toDType(type.getElementType());
    if (dtype && type.hasStaticShape() && type.getNumElements() * 2 >= points)
      result.storedBytes =
          std::max<int64_t>(result.storedBytes, byteSize(*dtype));
  }
  result.elementBytes = narrowest == 16 ? 4 : narrowest;
  return result;
}
