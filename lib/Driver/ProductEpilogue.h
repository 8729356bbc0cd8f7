//===- ProductEpilogue.h - what follows a product ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_PRODUCTEPILOGUE_H
#define FUSEC_LIB_DRIVER_PRODUCTEPILOGUE_H

#include "LinearAccess.h"
#include "fusec/Analysis/RegionShape.h"
#include "fusec/Runtime/VendorCall.h"

namespace fusec::driver {

/// out = activation(product + addends[0] + addends[1]), in this order, in f32.
struct ProductEpilogue {
  /// Inputs; at most two.
  llvm::SmallVector<LinearAccess, 2> addends;
  runtime::VendorActivation activation = runtime::VendorActivation::None;
};

/// What the only output of `form`, a contraction, is made of behind the
/// contraction; nothing if that is more than an epilogue and movement of
/// elements. Values between the ops are taken to stay in f32, as
/// NumericsMode::Default has them, so what would round them is refused, but for
/// a last cast from f32 to 16 bits.
std::optional<ProductEpilogue>
productEpilogue(analysis::FactTable &facts, const analysis::RegionForm &form);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_PRODUCTEPILOGUE_H
