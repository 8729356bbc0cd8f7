//===- ScatterKernels.cpp - updates at computed places --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy of the operand is updated in row-major order of the updates. Sums stay
// f64 until the end, so they round once.
//===----------------------------------------------------------------------===//
#include "Combine.h"
#include "Kernel.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

/// Element `i` of `indices` as a position on an axis of `size`, or -1 if it is
/// out of range; negative ones count from the end.
static int64_t positionAt(const Tensor &indices, int64_t i, int64_t size) {
  int64_t index = indices.whole[i];
  if (index < 0 && !isUnsignedInt(indices.dtype))
    index += size;
  return index < 0 || index >= size ? -1 : index;
}

template <typename T>
static T applyUpdate(graph::ScatterKind kind, DType dtype, T old, T update) {
  using graph::ReduceKind;
  switch (kind) {
  case graph::ScatterKind::assign:
    return update;
  case graph::ScatterKind::add:
    return Combine(ReduceKind::sum, dtype)(old, update);
  case graph::ScatterKind::mul:
    return Combine(ReduceKind::prod, dtype)(old, update);
  case graph::ScatterKind::max:
    return Combine(ReduceKind::max, dtype)(old, update);
  case graph::ScatterKind::min:
    return Combine(ReduceKind::min, dtype)(old, update);
  }
  llvm_unreachable("unknown scatter kind");
}

static Results scatterNdKernel(Operation *op, Operands operands, Context &) {
  const Tensor &indices = *operands[1], &updates = *operands[2];
  Tensor result = *operands[0];
  auto kind = cast<graph::ScatterNdOp>(op).getKind();
  int64_t depth = indices.shape.back();
  ArrayRef<int64_t> list = ArrayRef(indices.shape).drop_back();
  SmallVector<int64_t> wanted(list);
  llvm::append_range(wanted, ArrayRef(result.shape).drop_front(depth));
  if (ArrayRef<int64_t>(wanted) != ArrayRef<int64_t>(updates.shape))
    return llvm::createStringError("the updates have the wrong shape");
  int64_t inner = Context::steps(ArrayRef(result.shape).drop_front(depth));
  auto strides = stridesOf(result.shape);
  for (int64_t u = 0, e = Context::steps(list); u < e; ++u) {
    int64_t start = 0;
    bool inside = true;
    for (int64_t k = 0; k < depth; ++k) {
      int64_t at = positionAt(indices, u * depth + k, result.shape[k]);
      inside &= at >= 0;
      start += at * strides[k];
    }
    if (!inside)
      continue;
    onPayload(updates, result, [&](const auto &source, auto &target) {
      for (int64_t i = 0; i < inner; ++i)
        target[start + i] = applyUpdate(kind, result.dtype, target[start + i],
                                        source[u * inner + i]);
    });
  }
  return single(std::move(result));
}

static Results scatterElementsKernel(Operation *op, Operands operands,
                                     Context &) {
  const Tensor &indices = *operands[1], &updates = *operands[2];
  Tensor result = *operands[0];
  auto scatter = cast<graph::ScatterElementsOp>(op);
  int64_t axis = scatter.getAxis();
  if (indices.shape != updates.shape)
    return llvm::createStringError("the updates have the wrong shape");
  for (int64_t d = 0; d < result.rank(); ++d)
    if (d != axis && updates.shape[d] > result.shape[d])
      return llvm::createStringError("indices exceed dimension %lld",
                                     static_cast<long long>(d));
  auto strides = stridesOf(result.shape);
  int64_t along = strides[axis];
  strides[axis] = 0;
  onPayload(updates, result, [&](const auto &source, auto &target) {
    walkStrided(updates.shape, strides, 0, [&](int64_t i, int64_t p) {
      int64_t at = positionAt(indices, i, result.shape[axis]);
      if (at >= 0)
        target[p + at * along] = applyUpdate(scatter.getKind(), result.dtype,
                                             target[p + at * along], source[i]);
    });
  });
  return single(std::move(result));
}

void reference::registerScatterKernels(Registry &registry) {
  registry.add<graph::ScatterNdOp>(scatterNdKernel);
  registry.add<graph::ScatterElementsOp>(scatterElementsKernel);
}
