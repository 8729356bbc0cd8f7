//===- ConstantOf.h - integers known when compiling -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_COMMON_CONSTANTOF_H
#define FUSEC_DIALECT_COMMON_CONSTANTOF_H

#include "mlir/IR/Matchers.h"
#include <optional>

namespace fusec {

/// The number that an integer or index constant, or a splat of one, holds, sign
/// extended; nothing if `value` is not such a constant.
inline std::optional<int64_t> constantOf(mlir::Value value) {
  llvm::APInt number;
  if (mlir::matchPattern(value, mlir::m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

} // namespace fusec

#endif // FUSEC_DIALECT_COMMON_CONSTANTOF_H
