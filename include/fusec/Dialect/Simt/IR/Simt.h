//===- Simt.h - the simt dialect --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_SIMT_IR_SIMT_H
#define FUSEC_DIALECT_SIMT_IR_SIMT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fusec/Dialect/Simt/IR/SimtDialect.h.inc"
#define GET_OP_CLASSES
#include "fusec/Dialect/Simt/IR/SimtOps.h.inc"

#endif // FUSEC_DIALECT_SIMT_IR_SIMT_H
