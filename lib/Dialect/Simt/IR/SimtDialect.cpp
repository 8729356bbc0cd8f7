//===- SimtDialect.cpp - the simt dialect ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Common/KernelAssembly.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fusec::simt;

#include "fusec/Dialect/Simt/IR/SimtDialect.cpp.inc"
#define GET_OP_CLASSES
#include "fusec/Dialect/Simt/IR/SimtOps.cpp.inc"

void SimtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "fusec/Dialect/Simt/IR/SimtOps.cpp.inc"
      >();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return fusec::parseKernel(parser, result);
}
void KernelOp::print(OpAsmPrinter &printer) {
  fusec::printKernel(printer, *this);
}
