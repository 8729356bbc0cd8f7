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

/// Bytes of one access; wider vectors are several accesses of this size.
static constexpr int64_t kMaxAccessBytes = 16;

/// The widest vector for an access of `type` elements at `offsets`.
static int64_t widest(AxisAnalysis &analysis, LayoutAttr layout, Type element,
                      Value offsets, Value mask) {
  ArrayRef<Digit> digits = layout.getReg();
  if (digits.empty() || digits.front().stride != 1)
    return 1;
  int64_t run = llvm::bit_floor(uint64_t(digits.front().size));
  if (digits.front().size % run)
    return 1;
  AxisInfo info = analysis.get(offsets);
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  run = std::min({run, info.contiguity, kMaxAccessBytes / bytes});
  if (mask)
    run = std::min(run, analysis.get(mask).constancy);
  while (run > 1 &&
         (info.divisibilityAt(run) < run || digits.front().size % run))
    run /= 2;
  return run;
}

namespace {
struct VectorizePass : fusec::tile::impl::VectorizePassBase<VectorizePass> {
  void runOnOperation() override {
    DenseMap<int64_t, AxisAnalysis> analyses;
    auto width = [&](Type element, Value offsets, Value mask) {
      LayoutAttr layout = getLayout(offsets.getType());
      int64_t axis = layout.getReg().empty() ? 0 : layout.getReg().front().axis;
      auto &analysis = analyses.try_emplace(axis, axis).first->second;
      return widest(analysis, layout, element, offsets, mask);
    };
    getOperation().walk([&](Operation *op) {
      if (auto load = dyn_cast<LoadOp>(op)) {
        // Masked shared loads are scalar in thread code.
        if (!isShared(load.getBuffer()) || !load.getMask())
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
