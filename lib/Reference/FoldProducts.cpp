//===- FoldProducts.cpp - products of large constants ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rewrite makes of weights is computed before the program runs, whatever
// its size: it takes the place of a constant as large.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/EraseDead.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include "fusec/Reference/Evaluate.h"
#include "fusec/Reference/Passes.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;

/// `value`, which is made of constants alone.
static llvm::Expected<HostTensor> compute(Value value) {
  Operation *op = value.getDefiningOp();
  EvaluateOptions limits;
  if (auto constant = dyn_cast_or_null<graph::ConstantOp>(op))
    return toHostTensor(constant.getValue(), limits.maxTensorBytes);
  if (!op)
    return llvm::createStringError("an argument is no constant");
  std::vector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    llvm::Expected<HostTensor> tensor = compute(operand);
    if (!tensor)
      return tensor.takeError();
    operands.push_back(std::move(*tensor));
  }
  auto results = evaluateOp(op, operands, limits);
  if (!results)
    return results.takeError();
  return (*results)[cast<OpResult>(value).getResultNumber()];
}

void reference::foldProducts(ArrayRef<Operation *> products) {
  for (Operation *op : products) {
    llvm::Expected<HostTensor> tensor = compute(op->getResult(0));
    if (!tensor) {
      // It stays for the run, where it is right, too.
      llvm::consumeError(tensor.takeError());
      continue;
    }
    OpBuilder builder(op);
    op->getResult(0).replaceAllUsesWith(graph::ConstantOp::create(
        builder, op->getLoc(),
        graph::makeResource(cast<RankedTensorType>(op->getResult(0).getType()),
                            "scaled", tensor->bytes)));
    // Others of `products` have their turn.
    graph::eraseDead(op, [&](Operation *other) {
      return other != op && llvm::is_contained(products, other);
    });
  }
}
