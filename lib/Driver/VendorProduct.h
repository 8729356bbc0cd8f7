//===- VendorProduct.h - regions that are one product -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_VENDORPRODUCT_H
#define FUSEC_LIB_DRIVER_VENDORPRODUCT_H

#include "fusec/Analysis/RegionShape.h"
#include "fusec/Runtime/VendorCall.h"

namespace fusec::driver {

/// The product that `fusion`, of shape `form`, computes, if it computes nothing
/// else but an epilogue of the vendor's library: a contraction of two inputs,
/// then sums with inputs and an activation (ProductEpilogue.h), and movement of
/// elements, by which each tensor is a matrix, or a matrix for each batch, that
/// is contiguous along one axis, or a bias. Positions of buffers are those of
/// inputs, then of the result. Nothing for types that the library has no
/// products of, and for products of no elements. Values between the ops are in
/// f32 (NumericsMode::Default).
std::optional<runtime::MatrixProduct>
vendorProduct(graph::FusionOp fusion, const analysis::RegionForm &form);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_VENDORPRODUCT_H
