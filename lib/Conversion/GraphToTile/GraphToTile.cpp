//===- GraphToTile.cpp - from regions to block programs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Conversion/GraphToTile.h"
#include "KernelBuilder.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

bool fusec::needsWideOffsets(graph::FusionOp fusion) {
  auto isWide = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    // Offsets run past the end by at most a block (2^20 elements is plenty).
    return tensor.getNumElements() > (int64_t(1) << 31) - (int64_t(1) << 20);
  };
  return llvm::any_of(fusion->getOperandTypes(), isWide) ||
         llvm::any_of(fusion->getResultTypes(), isWide);
}

FailureOr<tile::KernelOp>
fusec::lowerRegion(graph::FusionOp fusion, const analysis::RegionForm &form,
                   const TileOptions &options, ModuleOp module,
                   StringRef name) {
  KernelBuilder kb(fusion, form, options, module, name);
  switch (form.kind) {
  case analysis::KernelKind::Row: {
    analysis::FactTable facts;
    return scheduleRow(kb, accessFacts(facts, form));
  }
  case analysis::KernelKind::Stencil:
    return scheduleStencil(kb);
  case analysis::KernelKind::Pointwise:
  case analysis::KernelKind::Naive:
    return schedulePointwise(kb);
  case analysis::KernelKind::Contraction:
    return scheduleContraction(kb);
  case analysis::KernelKind::Multi:
    break;
  }
  return fusion.emitOpError() << "has no schedule for a "
                              << analysis::name(form.kind) << " region";
}
