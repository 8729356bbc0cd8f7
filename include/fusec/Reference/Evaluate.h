//===- Evaluate.h - the reference evaluator ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs graph ops one by one, floats in f64 rounded to their type after each
// op, integers exactly. It shares no code with buildElement or any lowering,
// so that its answers are a second opinion; constant folding uses it too.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_REFERENCE_EVALUATE_H
#define FUSEC_REFERENCE_EVALUATE_H

#include "fusec/Support/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace fusec::reference {

struct EvaluateOptions {
  /// Keep floats as f64 between ops instead of rounding to their type; only
  /// explicit casts, quantisation and iota round. Float results then come back
  /// as f64 tensors. For error bounds.
  bool wide = false;
  /// Round f32 operands of products to the 11 digits of TF32 where their op
  /// allows it, as tensor cores do. For error bounds.
  bool tf32 = false;
  /// Steps after which evaluation ends with an error: one per element read or
  /// made, more in inner loops. About 10^8 to 10^9 steps take a second.
  int64_t maxSteps = int64_t(1) << 38;
  /// Cap on the bytes of one tensor while it is evaluated (8 per element).
  int64_t maxTensorBytes = kDefaultMaxTensorBytes;
  /// Cap on the bytes of all values alive at one time, arguments included.
  int64_t maxLiveBytes = 2 * kDefaultMaxTensorBytes;
};

/// Evaluates `function`, of one block of graph ops, on one tensor per
/// argument. Values are freed after their last use. Fails on arguments that do
/// not fit the types, on ops that are not of the graph dialect, on result
/// shapes that only a dynamic type knows, and beyond the limits of `options`;
/// the message names op and location. Thread safe as long as no thread changes
/// the function.
llvm::Expected<std::vector<HostTensor>>
evaluate(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> arguments,
         const EvaluateOptions &options = {});

/// Evaluates one op, regions included, on one tensor per operand. Regions must
/// not use values from above.
llvm::Expected<std::vector<HostTensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
           const EvaluateOptions &options = {});

} // namespace fusec::reference

#endif // FUSEC_REFERENCE_EVALUATE_H
