//===- LinearAccess.h - addresses as sums of multiples of loops -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_LINEARACCESS_H
#define FUSEC_LIB_DRIVER_LINEARACCESS_H

#include "fusec/Analysis/OpFacts.h"
#include "fusec/Support/DType.h"

namespace fusec::driver {

/// A buffer and how far apart its elements are along each loop.
struct LinearAccess {
  /// Position among inputs, then outputs, of the region.
  uint32_t argument = 0;
  DType dtype = DType::F32;
  /// In elements; 0 for loops of one.
  llvm::SmallVector<int64_t> strides;
};

/// The only access of an op that moves elements of its one operand; null for
/// other ops, and where an element may come from nowhere.
mlir::AffineMap movementOf(analysis::FactTable &facts, mlir::Operation *op);

/// The buffer `argument`, which holds `value`, read or written at `map` of
/// loops of `sizes`; nothing if offsets do not start at 0 or are not linear.
std::optional<LinearAccess> accessOf(uint32_t argument, mlir::AffineMap map,
                                     mlir::Value value,
                                     llvm::ArrayRef<int64_t> sizes);

/// The input that `value`, read at `at`, is by movement of elements; nothing if
/// it is computed.
std::optional<LinearAccess> operandAccess(analysis::FactTable &facts,
                                          mlir::Value value, mlir::AffineMap at,
                                          llvm::ArrayRef<int64_t> sizes);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_LINEARACCESS_H
