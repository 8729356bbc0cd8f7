//===- ContractionChoice.h - which configuration ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONCHOICE_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONCHOICE_H

#include "ContractionShape.h"
#include "fusec/Target/CUDA/GemmConfig.h"

namespace fusec::graph_to_tile {

/// What the configuration of a contraction follows from.
struct ContractionProblem {
  cuda::GemmKind kind = cuda::GemmKind::F16;
  cuda::GemmSupply supply = cuda::GemmSupply::Computed;
  cuda::GemmOrders orders;
  /// Nothing but the loop that keeps A in shared memory is wanted, if the model
  /// wants it.
  bool mustBeDirect = false;
};

/// Whether any configuration makes the products of `kb`'s region: not so where
/// there are two and the target has no loop for pairs.
bool hasConfig(const KernelBuilder &kb, const ContractionShape &shape,
               cuda::GemmKind kind);

/// The configuration that the model ranks first, for sizes of `shape`; there is
/// one.
cuda::GemmConfig modelConfig(const KernelBuilder &kb,
                             const ContractionShape &shape, cuda::GemmKind kind,
                             cuda::GemmSupply supply,
                             const cuda::GemmOrders *few = nullptr);

/// The one that the options' chooser picks among the best of the model and
/// their variants; the model's first where there is no chooser.
cuda::GemmConfig chooseConfig(const KernelBuilder &kb,
                              const ContractionShape &shape,
                              const ContractionProblem &problem);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONCHOICE_H
