//===- KernelAssembly.h - text form of kernel ops ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.kernel and simt.kernel are written alike:
//   tile.kernel @k(%arg0: memref<?xf32>, %n: index) attributes {...} { ... }
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_COMMON_KERNELASSEMBLY_H
#define FUSEC_DIALECT_COMMON_KERNELASSEMBLY_H

#include "mlir/IR/OpImplementation.h"

namespace fusec {

/// Parses symbol name, arguments, attributes and body of a kernel op.
mlir::ParseResult parseKernel(mlir::OpAsmParser &parser,
                              mlir::OperationState &result);
/// Prints what `parseKernel` reads.
void printKernel(mlir::OpAsmPrinter &printer, mlir::Operation *op);

} // namespace fusec

#endif // FUSEC_DIALECT_COMMON_KERNELASSEMBLY_H
