//===- PadConvolutions.cpp - padding as an op of its own ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A padded convolution checks for every product whether it reads the input or
// padding. One copy of the input with its padding in place is much cheaper: it
// is read as many times as the kernel has elements.
//===----------------------------------------------------------------------===//
#include "PadConvolutions.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

static bool isPadded(graph::ConvolutionOp op) {
  auto isSet = [](int64_t size) { return size != 0; };
  return llvm::any_of(op.getLow(), isSet) || llvm::any_of(op.getHigh(), isSet);
}

static void padInput(graph::ConvolutionOp op) {
  RankedTensorType type = op.getInput().getType();
  SmallVector<int64_t> low(type.getRank(), 0), high(type.getRank(), 0),
      none(op.getLow().size(), 0);
  for (auto [i, dim] : llvm::enumerate(op.getInputDims().drop_front(2))) {
    low[dim] = op.getLow()[i];
    high[dim] = op.getHigh()[i];
  }
  OpBuilder builder(op);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  auto zero = graph::ConstantOp::create(
      builder, op.getLoc(),
      cast<ElementsAttr>(DenseElementsAttr::get(
          scalar, builder.getZeroAttr(type.getElementType()))));
  Value padded = graph::PadOp::create(builder, op.getLoc(), op.getInput(), zero,
                                      low, high);
  op.getInputMutable().assign(padded);
  op.setLow(none);
  op.setHigh(none);
}

void host::padConvolutions(func::FuncOp function) {
  SmallVector<graph::ConvolutionOp> ops;
  function.walk([&](graph::ConvolutionOp op) {
    if (isPadded(op) && op.getInput().getType().hasStaticShape())
      ops.push_back(op);
  });
  llvm::for_each(ops, padInput);
}
