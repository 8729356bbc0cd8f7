//===- PackSiblings.h - independent kernels in one launch -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. The last step of a plan: small kernels that do not
// depend on each other become parts of one launch (KernelKind::Multi).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_PACKSIBLINGS_H
#define FUSEC_LIB_FUSION_PACKSIBLINGS_H

#include "OutlineGroups.h"
#include "fusec/Fusion/FormGroups.h"

namespace fusec::fusion {

/// One launch of a plan.
struct PlannedKernel {
  graph::FusionOp fusion;
  /// The groups of its parts; one for an ordinary kernel.
  llvm::SmallVector<unsigned, 1> groups;
  /// Why it shares its launch with no other kernel, where it does not.
  std::optional<analysis::Refusal> alone = std::nullopt;
};

/// Puts the fusions of `outlined`, all in `block`, side by side where that pays
/// and reorders `block` so that producers come first. Returns the launches in
/// program order. Near-linear in the ops of `block`.
///
/// Kernels get a level that is larger than that of everything they read, so
/// kernels of one level cannot depend on each other and packs of one level each
/// cannot form a cycle:
///
///     level 0:  K1  K3      K1+K3
///     level 1:  K2  K4  ->  K2+K4        (K2 reads K1, K4 reads K3)
std::vector<PlannedKernel> packSiblings(mlir::Block &block,
                                        llvm::ArrayRef<OutlinedGroup> outlined,
                                        const FormGroupsOptions &options);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_PACKSIBLINGS_H
