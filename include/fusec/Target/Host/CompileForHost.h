//===- CompileForHost.h - from a planned graph to host code -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TARGET_HOST_COMPILEFORHOST_H
#define FUSEC_TARGET_HOST_COMPILEFORHOST_H

#include "fusec/Runtime/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace fusec::host {

struct CompileOptions {
  /// Round floats to their element type after every op, as the graph is
  /// written; otherwise values inside a region stay in f32 and are rounded
  /// before discontinuous ops, explicit casts and stores.
  bool exact = false;
  /// Vector code; off gives one element at a time (for tests of the former).
  bool vectorize = true;
  /// The order of sums must not depend on how many rows there are: none is
  /// chosen for having few.
  bool batchInvariant = false;
};

/// The dialects that compilation makes ops of; append to the context's registry
/// before `compileForHost`.
void registerDialects(mlir::DialectRegistry &registry);

/// Compiles the only function of `module`: static shapes, a body of
/// graph.fusion regions, primitive graph ops, composites and constants. Each
/// region and each op outside one becomes one or more kernels of LLVM IR text;
/// an op that has no element form (while, scan) becomes a HostCall to the
/// reference evaluator. Changes `module` (composites decompose). The program
/// runs on `runtime::createHostDevice` and holds no MLIR of the caller's
/// context. Errors carry the located diagnostics. Not thread-safe on one
/// context.
llvm::Expected<runtime::Program>
compileForHost(mlir::ModuleOp module, const CompileOptions &options = {});

} // namespace fusec::host

#endif // FUSEC_TARGET_HOST_COMPILEFORHOST_H
