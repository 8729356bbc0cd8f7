//===- RowSkew.cpp - across rows that start anywhere in a vector ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowSkew.h"
#include "Sizes.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

/// Whether what is reduced follows from inputs of full size alone, and not from
/// what is one value a row.
static bool readsMatricesOnly(const RegionForm &form) {
  int64_t points = product(form.spine());
  return llvm::all_of(form.ops, [&](Operation *op) {
    auto placed = form.placements.find(op);
    bool isStage = llvm::any_of(
        form.stages, [&](const RegionStage &stage) { return stage.op == op; });
    bool isOfRow = placed != form.placements.end() &&
                   placed->second.isUniform && !placed->second.level &&
                   !isStage && !isa<graph::ConstantOp>(op);
    return !isOfRow && llvm::all_of(op->getOperands(), [&](Value operand) {
      auto type = cast<RankedTensorType>(operand.getType());
      return !isa<BlockArgument>(operand) || type.getNumElements() == 1 ||
             type.getNumElements() == points;
    });
  });
}

std::optional<RowTiling> analysis::skewRows(const RegionForm &form,
                                            const AccessFacts &access,
                                            RowTiling split) {
  int64_t rows = product(form.parallel), columns = product(form.reduced);
  bool storesFull = llvm::any_of(form.outputs, [](const RegionOutput &output) {
    return !output.isUniform;
  });
  if (!access.isDenseAcross || storesFull || !readsMatricesOnly(form))
    return std::nullopt;
  // Several blocks; the columns of a thread start alike, and the last one of
  // all ends with a vector.
  if (split.lanes > 1 || split.repeats > 1 || rows <= split.rows() ||
      rows * split.columns() % split.vector || rows * columns % split.vector)
    return std::nullopt;
  split.skew = split.vector;
  return split;
}
