//===- GraphToTile.cpp - from regions to block programs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Conversion/GraphToTile.h"
#include "KernelBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

/// Product of sizes, or more than any limit if it overflows.
static int64_t saturatingProduct(ArrayRef<int64_t> sizes) {
  uint64_t result = 1;
  for (int64_t size : sizes)
    result = llvm::SaturatingMultiply<uint64_t>(result, size);
  return std::min<uint64_t>(result, INT64_MAX);
}

bool fusec::needsWideOffsets(graph::FusionOp fusion,
                             const analysis::RegionForm &form) {
  constexpr int64_t kLimit = int64_t(1) << 30;
  // Masked threads compute offsets past the end, by at most a tile of rows.
  constexpr int64_t kTileRows = 256;
  auto isWide = [](Type type) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(type).getShape());
    if (!shape.empty())
      shape.front() += kTileRows;
    return saturatingProduct(shape) > 2 * kLimit - 1;
  };
  auto isLarge = [](Type type) {
    return saturatingProduct(cast<RankedTensorType>(type).getShape()) > kLimit;
  };
  // A contraction never counts the points of its spine.
  bool isContraction = form.kind == analysis::KernelKind::Contraction;
  auto needsWide = [&](Type type) {
    return isContraction ? isWide(type) : isLarge(type);
  };
  return (!isContraction && saturatingProduct(form.spine()) > kLimit) ||
         llvm::any_of(fusion->getOperandTypes(), needsWide) ||
         llvm::any_of(fusion->getResultTypes(), needsWide);
}

FailureOr<tile::KernelOp> fusec::lowerRegion(graph::FusionOp fusion,
                                             const analysis::RegionForm &form,
                                             const TileOptions &options,
                                             ModuleOp module, StringRef name) {
  for (const analysis::RegionForm *other : {options.pattern, options.counted})
    if (other && (other->kind != form.kind ||
                  other->parallel.size() != form.parallel.size()))
      return fusion.emitOpError("is not the region that its pattern was");
  KernelBuilder kb(fusion, form, options, module, name);
  switch (form.kind) {
  case analysis::KernelKind::Row: {
    analysis::FactTable facts;
    return scheduleRow(kb, analysis::accessFacts(facts, kb.pattern));
  }
  case analysis::KernelKind::Stencil: {
    // Nothing to tile; the naive loops know how to do nothing.
    auto isEmpty = [](Type type) {
      return cast<RankedTensorType>(type).getNumElements() == 0;
    };
    bool hasEmpty = false;
    fusion.getBody().walk([&](Operation *op) {
      hasEmpty |= llvm::any_of(op->getOperandTypes(), isEmpty) ||
                  llvm::any_of(op->getResultTypes(), isEmpty);
    });
    return hasEmpty ? schedulePointwise(kb) : scheduleStencil(kb);
  }
  case analysis::KernelKind::Pointwise: {
    analysis::FactTable facts;
    if (auto tile = analysis::tileTranspose(facts, form, options.threads))
      return scheduleTranspose(kb, *tile);
    return schedulePointwise(kb);
  }
  case analysis::KernelKind::Naive:
    return schedulePointwise(kb);
  case analysis::KernelKind::Contraction:
    return scheduleContraction(kb);
  case analysis::KernelKind::Multi:
  case analysis::KernelKind::Chain:
    break;
  }
  return fusion.emitOpError()
         << "has no schedule for a " << analysis::name(form.kind) << " region";
}
