//===- Passes.h - passes on thread programs ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_SIMT_TRANSFORMS_PASSES_H
#define FUSEC_DIALECT_SIMT_TRANSFORMS_PASSES_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "mlir/Pass/Pass.h"

namespace fusec::simt {
#define GEN_PASS_DECL
#include "fusec/Dialect/Simt/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "fusec/Dialect/Simt/Transforms/Passes.h.inc"
} // namespace fusec::simt

#endif // FUSEC_DIALECT_SIMT_TRANSFORMS_PASSES_H
