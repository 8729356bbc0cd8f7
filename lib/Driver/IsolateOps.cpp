//===- IsolateOps.cpp - one region per op ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "IsolateOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

/// Puts `op` in a region of its own, in its place.
static graph::FusionOp isolate(Operation *op) {
  OpBuilder builder(op);
  SmallVector<Value> inputs;
  llvm::SmallDenseMap<Value, unsigned> positions;
  for (Value operand : op->getOperands())
    if (positions.try_emplace(operand, inputs.size()).second)
      inputs.push_back(operand);
  auto fusion = graph::FusionOp::create(builder, op->getLoc(),
                                        op->getResultTypes(), inputs);
  Block &body = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  Operation *inner = builder.clone(*op, mapping);
  graph::YieldOp::create(builder, op->getLoc(), inner->getResults());
  op->replaceAllUsesWith(fusion->getResults());
  op->erase();
  return fusion;
}

void driver::isolateOps(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (isa<graph::FusibleOpInterface>(op))
      isolate(&op);
}

SmallVector<graph::FusionOp> driver::splitRegion(graph::FusionOp fusion) {
  SmallVector<graph::FusionOp> parts;
  OpBuilder builder(fusion);
  IRMapping mapping;
  Block &body = fusion.getBody().front();
  mapping.map(body.getArguments(), fusion.getInputs());
  SmallVector<Operation *> copies;
  for (Operation &op : body.without_terminator())
    copies.push_back(builder.clone(op, mapping));
  for (auto [result, value] :
       llvm::zip(fusion.getResults(), fusion.getYield().getValues()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  fusion.erase();
  for (Operation *copy : copies)
    if (isa<graph::FusibleOpInterface>(copy))
      parts.push_back(isolate(copy));
  return parts;
}
