//===- LaunchParts.cpp - regions that share a launch ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LaunchParts.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

unsigned fusion::tableBytesOf(graph::FusionOp part) {
  constexpr unsigned kNumbers = 3 * 4 + 4 * 8;
  return 8 * (part.getNumOperands() + part.getNumResults()) + kNumbers;
}

graph::FusionOp fusion::mergeParts(OpBuilder &builder,
                                   ArrayRef<graph::FusionOp> parts) {
  llvm::SmallPtrSet<Operation *, 16> inside(parts.begin(), parts.end());
  llvm::SetVector<Value> inputs;
  SmallVector<Value> results;
  for (graph::FusionOp part : parts) {
    for (Value input : part.getInputs())
      if (!inside.contains(input.getDefiningOp()))
        inputs.insert(input);
    for (Value value : part.getResults())
      if (llvm::any_of(value.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        results.push_back(value);
  }
  graph::FusionOp last = parts.back();
  auto outer = graph::FusionOp::create(builder, last.getLoc(),
                                       ValueRange(results).getTypes(),
                                       inputs.getArrayRef());
  Region &region = outer.getBody();
  Block *body = region.empty() ? &region.emplaceBlock() : &region.front();
  body->clear();
  IRMapping arguments;
  for (Value input : inputs)
    arguments.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (auto [value, outside] : llvm::zip(results, outer.getResults()))
    value.replaceUsesWithIf(outside, [&](OpOperand &use) {
      return !inside.contains(use.getOwner());
    });
  for (graph::FusionOp part : parts) {
    part->moveBefore(body, body->end());
    for (OpOperand &operand : part->getOpOperands())
      operand.set(arguments.lookupOrDefault(operand.get()));
  }
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  graph::YieldOp::create(inner, outer.getLoc(), results);
  return outer;
}
