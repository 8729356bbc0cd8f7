//===- EvaluatorCall.h - ops that the evaluator runs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_HOST_EVALUATORCALL_H
#define FUSEC_LIB_TARGET_HOST_EVALUATORCALL_H

#include "fusec/Runtime/Program.h"
#include "mlir/IR/Operation.h"

namespace fusec::host {

/// A HostCall without buffers and the values that those must be: what `op`
/// reads (operands, then values that its regions use from above), followed by
/// its results.
struct EvaluatorCall {
  runtime::HostCall call;
  llvm::SmallVector<mlir::Value> operands;
};

/// A call of the reference evaluator on a copy of `op` in a context of its own.
llvm::Expected<EvaluatorCall> callEvaluator(mlir::Operation *op);

} // namespace fusec::host

#endif // FUSEC_LIB_TARGET_HOST_EVALUATORCALL_H
