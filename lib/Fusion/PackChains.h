//===- PackChains.h - kernels one after the other in one launch -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. The very last step of a plan: kernels so small that
// launching them costs more than running them on a few multiprocessors become
// steps of one launch (KernelKind::Chain).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_PACKCHAINS_H
#define FUSEC_LIB_FUSION_PACKCHAINS_H

#include "PackSiblings.h"

namespace fusec::fusion {

/// Puts runs of neighbours of `planned`, which are the launches of `block` in
/// program order, into one launch each where that pays, and returns the
/// launches in program order; nothing changes for targets without clusters.
/// Linear in the ops of `block`.
///
///     K1 -> K2+K3 -> K4 -> large K5      chain(K1, K2, K3, K4) -> K5
std::vector<PlannedKernel> packChains(std::vector<PlannedKernel> planned,
                                      const FormGroupsOptions &options);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_PACKCHAINS_H
