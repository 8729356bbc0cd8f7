//===- Vectorize.cpp - widen loads and stores -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Tile/Transforms/AxisInfo.h"
#include "fusec/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/TypeUtilities.h"

namespace fusec::tile {
#define GEN_PASS_DEF_VECTORIZEPASS
#include "fusec/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fusec::tile

using namespace mlir;
using namespace fusec::tile;

namespace {
struct VectorizePass : fusec::tile::impl::VectorizePassBase<VectorizePass> {
  void runOnOperation() override {
    DenseMap<int64_t, AxisAnalysis> analyses;
    auto width = [&](Type element, Value offsets, Value mask) {
      int64_t axis = vectorAxis(getLayout(offsets.getType()));
      auto &analysis = analyses.try_emplace(axis, axis).first->second;
      return accessWidth(analysis, element, offsets, mask);
    };
    getOperation().walk([&](Operation *op) {
      if (auto load = dyn_cast<LoadOp>(op)) {
        load.setVector(width(getElementTypeOrSelf(load.getResult()),
                             load.getOffsets(), load.getMask()));
      } else if (auto store = dyn_cast<StoreOp>(op)) {
        store.setVector(width(getElementTypeOrSelf(store.getValue()),
                              store.getOffsets(), store.getMask()));
      } else if (auto copy = dyn_cast<CopyOp>(op)) {
        Type element = copy.getElementType();
        copy.setVector(
            std::min(width(element, copy.getOffsets(), copy.getMask()),
                     width(element, copy.getPlaces(), copy.getMask())));
      }
    });
  }
};
} // namespace
