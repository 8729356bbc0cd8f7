//===- SameRegion.cpp - regions that are equal ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SameRegion.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

/// A hash of the ops and their types; which values they read is compared.
static size_t hashOf(graph::FusionOp fusion) {
  llvm::hash_code hash = llvm::hash_value(fusion.getNumOperands());
  fusion.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return size_t(hash);
}

graph::FusionOp SameRegions::firstOf(graph::FusionOp fusion) {
  auto &candidates = byHash[hashOf(fusion)];
  for (graph::FusionOp candidate : candidates)
    if (candidate->getAttrDictionary() == fusion->getAttrDictionary() &&
        OperationEquivalence::isRegionEquivalentTo(
            &candidate.getBody(), &fusion.getBody(),
            OperationEquivalence::IgnoreLocations))
      return candidate;
  candidates.push_back(fusion);
  return fusion;
}

void SameRegions::forget(graph::FusionOp fusion) {
  llvm::erase(byHash[hashOf(fusion)], fusion);
}
