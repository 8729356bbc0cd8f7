//===- JoinConstants.cpp - concatenations of constants --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies bytes, each once, from where the constants are: joined weights are
// large, and no element needs to be looked at.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/EraseDead.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Passes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace fusec;

namespace {
/// The bytes of a constant; one element if it is a splat.
struct Part {
  ArrayRef<char> data;
  bool isSplat = false;
  int64_t axisSize = 0;
};
} // namespace

/// The bytes behind `value` if it is a constant of `size` bytes.
static std::optional<Part> bytesOf(Value value, int64_t size,
                                   int64_t axisSize) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  if (!constant)
    return std::nullopt;
  ElementsAttr attribute = constant.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    return Part{dense.getRawData(), dense.isSplat(), axisSize};
  auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob || int64_t(blob->getData().size()) != size)
    return std::nullopt;
  return Part{blob->getData(), false, axisSize};
}

static void fill(char *to, const Part &from, int64_t row, int64_t bytes,
                 int64_t elementBytes) {
  if (!from.isSplat) {
    std::memcpy(to, from.data.data() + row * bytes, bytes);
    return;
  }
  for (int64_t i = 0; i < bytes; i += elementBytes)
    std::memcpy(to + i, from.data.data(), elementBytes);
}

/// The constant that `op` makes, or nothing.
static ElementsAttr join(graph::ConcatOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  unsigned bits = type.getElementTypeBitWidth();
  if (!type.hasStaticShape() || type.getEncoding() || bits % 8)
    return {};
  int64_t axis = op.getAxis(), elementBytes = bits / 8;
  int64_t rows = 1, inner = elementBytes;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    (int64_t(dim) < axis ? rows : inner) *= int64_t(dim) == axis ? 1 : size;
  SmallVector<Part> inputs;
  for (Value input : op.getInputs()) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(axis);
    std::optional<Part> bytes = bytesOf(input, rows * size * inner, size);
    if (!bytes)
      return {};
    inputs.push_back(*bytes);
  }
  auto joined =
      std::make_shared<Bytes>(size_t(rows * type.getDimSize(axis) * inner));
  char *to = reinterpret_cast<char *>(joined->mutableData());
  for (int64_t row = 0; row < rows; ++row)
    for (const Part &input : inputs) {
      fill(to, input, row, input.axisSize * inner, elementBytes);
      to += input.axisSize * inner;
    }
  return graph::makeResource(type, "joined", std::move(joined));
}

void reference::joinConstants(ArrayRef<Operation *> concats) {
  for (Operation *op : concats) {
    auto concat = dyn_cast<graph::ConcatOp>(op);
    ElementsAttr value = concat ? join(concat) : ElementsAttr();
    if (!value)
      continue;
    OpBuilder builder(concat);
    concat.getResult().replaceAllUsesWith(
        graph::ConstantOp::create(builder, concat.getLoc(), value));
    graph::eraseDead(concat);
  }
}
