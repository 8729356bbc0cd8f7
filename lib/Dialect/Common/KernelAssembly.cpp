//===- KernelAssembly.cpp - text form of kernel ops -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Common/KernelAssembly.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

ParseResult fusec::parseKernel(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  NamedAttrList attributes;
  Region *body = result.addRegion();
  if (parser.parseSymbolName(name) ||
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  attributes.append(SymbolTable::getSymbolAttrName(), name);
  result.addAttributes(attributes);
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void fusec::printKernel(OpAsmPrinter &printer, Operation *op) {
  Region &body = op->getRegion(0);
  printer << ' ';
  printer.printSymbolName(SymbolTable::getSymbolName(op).getValue());
  printer << '(';
  llvm::interleaveComma(body.getArguments(), printer, [&](BlockArgument arg) {
    printer.printRegionArgument(arg);
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(
      op->getAttrDictionary().getValue(), SymbolTable::getSymbolAttrName());
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}
