//===- MovementKernels.cpp - ops that only move elements ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided copies: each op says where the first element comes from and how far
// a step along each result dimension goes.
//===----------------------------------------------------------------------===//
#include "Kernel.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

/// Fills `result` in order from `source` at strided places.
static void copyStrided(const Tensor &source, Tensor &result,
                        ArrayRef<int64_t> strides, int64_t start) {
  onPayload(source, result, [&](const auto &from, auto &to) {
    walkStrided(result.shape, strides, start,
                [&](int64_t i, int64_t p) { to[i] = from[p]; });
  });
}

/// Spreads `source` in order over strided places of `result`.
static void spreadStrided(const Tensor &source, Tensor &result,
                          ArrayRef<int64_t> strides, int64_t start) {
  onPayload(source, result, [&](const auto &from, auto &to) {
    walkStrided(source.shape, strides, start,
                [&](int64_t i, int64_t p) { to[p] = from[i]; });
  });
}

static Results constantKernel(Operation *op, Operands, Context &context) {
  int64_t maxBytes = context.bytesLeft();
  Expected<HostTensor> host =
      toHostTensor(cast<graph::ConstantOp>(op).getValue(), maxBytes);
  if (!host)
    return host.takeError();
  Expected<Tensor> result = Tensor::fromHost(*host, maxBytes);
  if (!result)
    return result.takeError();
  return single(std::move(*result));
}

static Results iotaKernel(Operation *op, Operands, Context &context) {
  Expected<Tensor> result = context.create(op->getResult(0));
  if (!result)
    return result.takeError();
  SmallVector<int64_t> strides(result->rank(), 0);
  strides[cast<graph::IotaOp>(op).getDimension()] = 1;
  DType to = result->dtype;
  walkStrided(result->shape, strides, 0, [&](int64_t i, int64_t index) {
    if (result->isReal())
      result->real[i] = roundResult(to, integerToReal(index, DType::I64, to));
    else
      result->whole[i] = index;
  });
  return single(std::move(*result));
}

static Results broadcastKernel(Operation *op, Operands operands,
                               Context &context) {
  Expected<Tensor> result = context.create(op->getResult(0));
  if (!result)
    return result.takeError();
  const Tensor &x = *operands[0];
  SmallVector<int64_t, 6> from = stridesOf(x.shape), strides(result->rank(), 0);
  for (auto [i, dim] :
       llvm::enumerate(cast<graph::BroadcastOp>(op).getDimensions())) {
    if (x.shape[i] != 1 && x.shape[i] != result->shape[dim])
      return llvm::createStringError("dimension %zu cannot be repeated", i);
    strides[dim] = x.shape[i] == 1 ? 0 : from[i];
  }
  copyStrided(x, *result, strides, 0);
  return single(std::move(*result));
}

static Results reshapeKernel(Operation *op, Operands operands,
                             Context &context) {
  const Tensor &x = *operands[0];
  SmallVector<int64_t> shape(cast<graph::ReshapeOp>(op).getType().getShape());
  // One dynamic size follows from the number of elements.
  int64_t known = 1, unknown = -1;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(size))
      known *= size;
    else if (unknown >= 0)
      return llvm::createStringError("the result needs a static shape");
    else
      unknown = i;
  }
  if (unknown >= 0)
    shape[unknown] = known == 0 ? 0 : x.elements() / known;
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  if (result->elements() != x.elements())
    return llvm::createStringError("the number of elements changes");
  result->real = x.real;
  result->whole = x.whole;
  return single(std::move(*result));
}

static Results transposeKernel(Operation *op, Operands operands,
                               Context &context) {
  const Tensor &x = *operands[0];
  SmallVector<int64_t, 6> from = stridesOf(x.shape), shape, strides;
  for (int64_t dim : cast<graph::TransposeOp>(op).getPermutation()) {
    shape.push_back(x.shape[dim]);
    strides.push_back(from[dim]);
  }
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  copyStrided(x, *result, strides, 0);
  return single(std::move(*result));
}

static Results sliceKernel(Operation *op, Operands operands, Context &context) {
  Expected<Tensor> result = context.create(op->getResult(0));
  if (!result)
    return result.takeError();
  if (result->elements() == 0)
    return single(std::move(*result));
  const Tensor &x = *operands[0];
  auto slice = cast<graph::SliceOp>(op);
  SmallVector<int64_t, 6> from = stridesOf(x.shape), strides;
  int64_t start = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    int64_t first = slice.getOffsets()[i];
    // A dimension of one element takes no step, so its stride may be anything.
    int64_t step = result->shape[i] == 1 ? 0 : slice.getStrides()[i];
    int64_t last = first + (result->shape[i] - 1) * step;
    if (std::min(first, last) < 0 || std::max(first, last) >= x.shape[i])
      return llvm::createStringError("dimension %lld is read out of range",
                                     static_cast<long long>(i));
    start += first * from[i];
    strides.push_back(step * from[i]);
  }
  copyStrided(x, *result, strides, start);
  return single(std::move(*result));
}

static Results padKernel(Operation *op, Operands operands, Context &context) {
  const Tensor &x = *operands[0], &value = *operands[1];
  auto pad = cast<graph::PadOp>(op);
  SmallVector<int64_t, 6> shape;
  for (auto [size, low, high] :
       llvm::zip_equal(x.shape, pad.getLow(), pad.getHigh())) {
    std::optional<int64_t> padding = checkedAdd(low, high);
    std::optional<int64_t> padded =
        padding ? checkedAdd(*padding, size) : std::nullopt;
    if (!padded)
      return llvm::createStringError("a padded size overflows");
    shape.push_back(*padded);
  }
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  onPayload(value, *result, [](const auto &from, auto &to) {
    std::fill(to.begin(), to.end(), from[0]);
  });
  SmallVector<int64_t, 6> strides = stridesOf(shape);
  int64_t start = 0;
  for (auto [stride, low] : llvm::zip_equal(strides, pad.getLow()))
    start += stride * low;
  spreadStrided(x, *result, strides, start);
  return single(std::move(*result));
}

static Results concatKernel(Operation *op, Operands operands,
                            Context &context) {
  int64_t axis = cast<graph::ConcatOp>(op).getAxis();
  SmallVector<int64_t, 6> shape(operands[0]->shape);
  shape[axis] = 0;
  for (const Tensor *input : operands) {
    shape[axis] += input->shape[axis];
    for (int64_t i = 0; i < input->rank(); ++i)
      if (i != axis && input->shape[i] != shape[i])
        return llvm::createStringError("inputs must agree in dimension %lld",
                                       static_cast<long long>(i));
  }
  Expected<Tensor> result = context.create(op->getResult(0), shape);
  if (!result)
    return result.takeError();
  SmallVector<int64_t, 6> strides = stridesOf(shape);
  int64_t start = 0;
  for (const Tensor *input : operands) {
    spreadStrided(*input, *result, strides, start);
    start += input->shape[axis] * strides[axis];
  }
  return single(std::move(*result));
}

//===----------------------------------------------------------------------===//
// philox
//===----------------------------------------------------------------------===//

/// One block of four words of Philox4x32-10.
static void philoxBlock(uint64_t counter, uint64_t seed, uint32_t (&words)[4]) {
  words[0] = static_cast<uint32_t>(counter);
  words[1] = static_cast<uint32_t>(counter >> 32);
  words[2] = words[3] = 0;
  uint32_t keyLow = static_cast<uint32_t>(seed),
           keyHigh = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t even = uint64_t(0xD2511F53) * words[0];
    uint64_t odd = uint64_t(0xCD9E8D57) * words[2];
    words[0] = static_cast<uint32_t>(odd >> 32) ^ words[1] ^ keyLow;
    words[1] = static_cast<uint32_t>(odd);
    words[2] = static_cast<uint32_t>(even >> 32) ^ words[3] ^ keyHigh;
    words[3] = static_cast<uint32_t>(even);
    keyLow += 0x9E3779B9;
    keyHigh += 0xBB67AE85;
  }
}

static Results philoxKernel(Operation *op, Operands operands,
                            Context &context) {
  Expected<Tensor> result = context.create(op->getResult(0));
  if (!result)
    return result.takeError();
  uint64_t seed = operands[0]->whole[0], offset = operands[1]->whole[0];
  for (int64_t i = 0, count = result->elements(); i < count; i += 4) {
    uint32_t words[4];
    philoxBlock(offset + static_cast<uint64_t>(i / 4), seed, words);
    for (int64_t k = 0; k < 4 && i + k < count; ++k)
      result->whole[i + k] = words[k];
  }
  return single(std::move(*result));
}

void reference::registerMovementKernels(Registry &registry) {
  registry.add<graph::ConstantOp>(constantKernel);
  registry.add<graph::IotaOp>(iotaKernel);
  registry.add<graph::BroadcastOp>(broadcastKernel);
  registry.add<graph::ReshapeOp>(reshapeKernel);
  registry.add<graph::TransposeOp>(transposeKernel);
  registry.add<graph::SliceOp>(sliceKernel);
  registry.add<graph::PadOp>(padKernel);
  registry.add<graph::ConcatOp>(concatKernel);
  registry.add<graph::PhiloxOp>(philoxKernel);
}
