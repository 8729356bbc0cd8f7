//===- KernelBuilder.h - stages as LLVM functions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_HOST_KERNELBUILDER_H
#define FUSEC_LIB_TARGET_HOST_KERNELBUILDER_H

#include "KernelEmitter.h"
#include "Stages.h"
#include "mlir/IR/OwningOpRef.h"

namespace fusec::host {

/// A value that is in memory when a kernel runs, or that it writes there.
struct Operand {
  mlir::Value value;
  bool isWide = false;
};

/// A kernel: a module with the LLVM function `kKernelName`, whose arguments are
/// `operands`, and the number of its blocks.
struct BuiltKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<Operand> operands;
  int64_t blocks = 0;
};

inline constexpr llvm::StringLiteral kKernelName = "fusec_host_kernel";

/// Builds one kernel that runs `stages` in order, row by row if there are
/// several. `operands` lists all values in memory, those that the stages write
/// included. Null (without a diagnostic) if the stages do not work row by row;
/// failure with a diagnostic if an op gives no code.
mlir::FailureOr<std::optional<BuiltKernel>>
buildKernel(llvm::ArrayRef<Stage> stages, llvm::ArrayRef<Operand> operands,
            mlir::Location loc, const CompileOptions &options);

/// Lowers a built kernel to LLVM IR text.
mlir::FailureOr<std::string> translateKernel(mlir::ModuleOp module);

// The steps of `translateKernel`, in order.

/// Retypes tiles `tensor<W x T>` to `vector<W x T>`.
void tilesToVectors(mlir::ModuleOp module);
/// Replaces math ops that upstream lowers inaccurately by calls to `fusec_*`
/// functions or code of stated accuracy (docs/semantics.md, host math).
void expandMath(mlir::ModuleOp module);
/// Replaces conversions from and to bf16 and float8 by integer arithmetic.
mlir::LogicalResult expandNarrowFloats(mlir::ModuleOp module);

} // namespace fusec::host

#endif // FUSEC_LIB_TARGET_HOST_KERNELBUILDER_H
