//===- PlainProduct.h - regions that are one product ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_PLAINPRODUCT_H
#define FUSEC_LIB_DRIVER_PLAINPRODUCT_H

#include "fusec/Analysis/RegionShape.h"
#include "fusec/Runtime/VendorCall.h"

namespace fusec::driver {

/// The product that `fusion`, of shape `form`, computes, if it computes nothing
/// else: a contraction of two inputs and movement of elements, by which each of
/// the three tensors is a matrix, or a matrix for each batch, that is
/// contiguous along one axis. Positions of buffers are those of inputs, then of
/// the result. Nothing for what the library promises less for than
/// docs/semantics.md (TF32, whose rounding it does not state), for types that
/// it has no products of, and for products of no elements.
std::optional<runtime::MatrixProduct>
plainProduct(graph::FusionOp fusion, const analysis::RegionForm &form);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_PLAINPRODUCT_H
