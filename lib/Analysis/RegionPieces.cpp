//===- RegionPieces.cpp - concatenations of equal pieces ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/RegionShape.h"

using namespace mlir;
using namespace fusec;

static constexpr size_t kMaxPieces = 4;

/// Whether a value of `size` elements along its last dim that is read at `map`
/// has its last dim along the spine's, and no other dim depends on that.
static bool followsLastDim(AffineMap map, int64_t size,
                           const analysis::RegionForm &form) {
  if (!map || !map.getNumResults() || form.parallel.empty() ||
      ShapedType::isDynamic(size) || size != form.parallel.back())
    return false;
  unsigned last = form.parallel.size() - 1;
  auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
  return dim && dim.getPosition() == last &&
         llvm::none_of(map.getResults().drop_back(), [&](AffineExpr expr) {
           return expr.isFunctionOfDim(last);
         });
}

int64_t analysis::countPieces(const RegionForm &form) {
  if (form.kind != KernelKind::Pointwise ||
      llvm::any_of(form.outputs, [](const RegionOutput &output) {
        return !output.index.isIdentity();
      }))
    return 1;
  for (Operation *op : form.ops) {
    auto concat = dyn_cast<graph::ConcatOp>(op);
    auto placed = form.placements.find(op);
    if (!concat || placed == form.placements.end() ||
        placed->second.reads.empty())
      continue;
    ArrayRef<int64_t> shape = concat.getType().getShape();
    if (concat.getAxis() + 1 == shape.size() &&
        llvm::all_equal(ValueRange(concat.getInputs()).getTypes()) &&
        concat.getInputs().size() <= kMaxPieces &&
        llvm::all_of(placed->second.reads, [&](AffineMap map) {
          return followsLastDim(map, shape.back(), form);
        }))
      return concat.getInputs().size();
  }
  return 1;
}
