//===- GatherKernels.cpp - indexing by data -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Kernel.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

/// Element `i` of `indices` as a position on an axis of `size` > 0 elements:
/// negative ones count from the end, then all are clamped.
static int64_t positionAt(const Tensor &indices, int64_t i, int64_t size) {
  int64_t index = indices.whole[i];
  if (indices.dtype == DType::U64 && index < 0)
    return size - 1; // above 2^63
  if (index < 0)
    index += size;
  return std::clamp<int64_t>(index, 0, size - 1);
}

static llvm::Error emptyAxis() {
  return llvm::createStringError("an index has no element to choose");
}

static Results gatherKernel(Operation *op, Operands operands,
                            Context &context) {
  const Tensor &x = *operands[0], &indices = *operands[1];
  int64_t axis = cast<graph::GatherOp>(op).getAxis(), size = x.shape[axis];
  ArrayRef<int64_t> from = x.shape;
  SmallVector<int64_t> shape(from.take_front(axis));
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape, from.drop_front(axis + 1));
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  if (result->elements() == 0)
    return single(std::move(*result));
  if (size == 0)
    return emptyAxis();
  int64_t outer = Context::steps(from.take_front(axis));
  int64_t inner = Context::steps(from.drop_front(axis + 1));
  onPayload(x, *result, [&](const auto &source, auto &target) {
    auto out = target.begin();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0, count = indices.elements(); i < count; ++i) {
        auto row =
            source.begin() + (o * size + positionAt(indices, i, size)) * inner;
        out = std::copy(row, row + inner, out);
      }
  });
  return single(std::move(*result));
}

static Results gatherElementsKernel(Operation *op, Operands operands,
                                    Context &context) {
  const Tensor &x = *operands[0], &indices = *operands[1];
  int64_t axis = cast<graph::GatherElementsOp>(op).getAxis(),
          size = x.shape[axis];
  Expected<Tensor> result = context.create(op->getResult(0), indices.shape);
  if (!result)
    return result.takeError();
  if (result->elements() == 0)
    return single(std::move(*result));
  if (size == 0)
    return emptyAxis();
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != axis && indices.shape[i] > x.shape[i])
      return llvm::createStringError("indices exceed dimension %lld",
                                     static_cast<long long>(i));
  SmallVector<int64_t, 6> strides = stridesOf(x.shape);
  int64_t along = strides[axis];
  strides[axis] = 0;
  onPayload(x, *result, [&](const auto &source, auto &target) {
    walkStrided(indices.shape, strides, 0, [&](int64_t i, int64_t p) {
      target[i] = source[p + along * positionAt(indices, i, size)];
    });
  });
  return single(std::move(*result));
}

static Results gatherNdKernel(Operation *op, Operands operands,
                              Context &context) {
  const Tensor &x = *operands[0], &indices = *operands[1];
  int64_t batch = cast<graph::GatherNdOp>(op).getBatchDims();
  int64_t length = indices.shape.back();
  ArrayRef<int64_t> from = x.shape,
                    outerShape = ArrayRef(indices.shape).drop_back();
  SmallVector<int64_t> shape(outerShape);
  llvm::append_range(shape, from.drop_front(batch + length));
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  if (result->elements() == 0)
    return single(std::move(*result));
  for (int64_t i = 0; i < batch; ++i)
    if (from[i] != outerShape[i])
      return llvm::createStringError("batch dimensions differ");
  if (llvm::is_contained(from.slice(batch, length), 0))
    return emptyAxis();
  SmallVector<int64_t, 6> strides = stridesOf(x.shape);
  int64_t perBatch = Context::steps(outerShape.drop_front(batch));
  int64_t batchStride = Context::steps(from.drop_front(batch));
  int64_t inner = Context::steps(from.drop_front(batch + length));
  onPayload(x, *result, [&](const auto &source, auto &target) {
    auto out = target.begin();
    for (int64_t v = 0, count = Context::steps(outerShape); v < count; ++v) {
      int64_t start = v / perBatch * batchStride;
      for (int64_t k = 0; k < length; ++k)
        start += strides[batch + k] *
                 positionAt(indices, v * length + k, from[batch + k]);
      out = std::copy_n(source.begin() + start, inner, out);
    }
  });
  return single(std::move(*result));
}

void reference::registerGatherKernels(Registry &registry) {
  registry.add<graph::GatherOp>(gatherKernel);
  registry.add<graph::GatherElementsOp>(gatherElementsKernel);
  registry.add<graph::GatherNdOp>(gatherNdKernel);
}
