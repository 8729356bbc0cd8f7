//===- Graph.h - the graph dialect ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_GRAPH_H
#define FUSEC_DIALECT_GRAPH_IR_GRAPH_H

#include "fusec/Dialect/Graph/IR/Dims.h"
#include "fusec/Dialect/Graph/IR/Element.h"
#include "fusec/Support/DType.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fusec/Dialect/Graph/IR/GraphDialect.h.inc"
#include "fusec/Dialect/Graph/IR/GraphEnums.h.inc"
#include "fusec/Dialect/Graph/IR/GraphInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "fusec/Dialect/Graph/IR/GraphAttrs.h.inc"

namespace fusec::graph::detail {
/// The iteration space of an op whose operands share the result's index.
IterationSpace elementwiseSpace(mlir::Operation *op);
} // namespace fusec::graph::detail

#define GET_OP_CLASSES
#include "fusec/Dialect/Graph/IR/GraphOps.h.inc"

namespace fusec::graph {
/// The DType of an MLIR element type, and back. Nothing for a type that fusec
/// does not have.
std::optional<DType> toDType(mlir::Type elementType);
mlir::Type fromDType(mlir::MLIRContext *context, DType dtype);
} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_GRAPH_H
