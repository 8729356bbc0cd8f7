//===- EmitterMovement.cpp - movement and reductions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using mlir::RankedTensorType;

/// True if the values are 0, 1, 2, ...
static bool isIdentity(DimsRef values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int64_t>(i))
      return false;
  return true;
}

Val Emitter::broadcastTo(const Val &x, DimsRef shape) {
  if (!x || DimsRef(x.shape) == shape)
    return x;
  if (x.shape.size() > shape.size())
    return fail("cannot broadcast " + describe(x.shape) + " to " +
                describe(shape));
  return broadcast(
      x, shape,
      countUp(x.rank(), static_cast<int64_t>(shape.size()) - x.rank()));
}

Val Emitter::broadcast(const Val &x, DimsRef shape, DimsRef dims) {
  if (!x)
    return {};
  for (size_t i = 0; i < dims.size(); ++i)
    if (x.shape[i] != 1 && x.shape[i] != shape[dims[i]])
      return fail("cannot broadcast " + describe(x.shape) + " to " +
                  describe(shape));
  if (DimsRef(x.shape) == shape && isIdentity(dims))
    return x;
  if (auto out = foldTarget(x.dtype, shape, {&x})) {
    llvm::SmallVector<int64_t> from = rowMajorStrides(x.shape);
    llvm::SmallVector<int64_t> strides(shape.size(), 0);
    for (size_t i = 0; i < dims.size(); ++i)
      strides[dims[i]] = x.shape[i] == 1 ? 0 : from[i];
    foldStrided(*x.constant, 0, strides, *out);
    return fromConstant(std::move(*out));
  }
  return make(x.dtype, shape, [&](RankedTensorType type) {
    return graph::BroadcastOp::create(builder, loc, type, use(x), dims)
        .getResult();
  });
}

Val Emitter::reshape(const Val &x, DimsRef shape) {
  if (!x || DimsRef(x.shape) == shape)
    return x;
  auto count = elementCount(shape);
  if (!count)
    return fail("shape " + describe(shape) + ": " +
                llvm::toString(count.takeError()));
  if (*count != x.elements())
    return fail("cannot reshape " + describe(x.shape) + " to " +
                describe(shape));
  if (x.constant) { // shares the bytes, whatever the size
    HostTensor same = *x.constant;
    same.shape.assign(shape.begin(), shape.end());
    return fromConstant(std::move(same));
  }
  return make(x.dtype, shape, [&](RankedTensorType type) {
    return graph::ReshapeOp::create(builder, loc, type, use(x)).getResult();
  });
}

Val Emitter::transpose(const Val &x, DimsRef permutation) {
  if (!x || isIdentity(permutation))
    return x;
  Dims shape;
  llvm::SmallVector<int64_t> from = rowMajorStrides(x.shape), strides;
  for (int64_t d : permutation) {
    shape.push_back(x.shape[d]);
    strides.push_back(from[d]);
  }
  if (auto out = foldTarget(x.dtype, shape, {&x})) {
    foldStrided(*x.constant, 0, strides, *out);
    return fromConstant(std::move(*out));
  }
  return make(x.dtype, shape, [&](RankedTensorType type) {
    return graph::TransposeOp::create(builder, loc, type, use(x), permutation)
        .getResult();
  });
}

Val Emitter::slice(const Val &x, DimsRef offsets, DimsRef sizes,
                   DimsRef strides) {
  if (!x)
    return {};
  // One form for what cannot be told apart: no stride where one element or
  // none is read, no offset where none is. A stride that kept its sign without
  // its offset would reach outside.
  Dims at(offsets), step(strides);
  bool whole = true;
  bool empty = llvm::is_contained(sizes, 0);
  for (size_t d = 0; d < at.size(); ++d) {
    if (sizes[d] <= 1 || empty)
      step[d] = 1;
    if (empty)
      at[d] = 0;
    whole &= at[d] == 0 && step[d] == 1 && sizes[d] == x.shape[d];
  }
  if (whole)
    return x;
  if (auto out = foldTarget(x.dtype, sizes, {&x})) {
    llvm::SmallVector<int64_t> from = rowMajorStrides(x.shape), steps;
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      offset += at[d] * from[d];
      steps.push_back(step[d] * from[d]);
    }
    foldStrided(*x.constant, offset, steps, *out);
    return fromConstant(std::move(*out));
  }
  return make(x.dtype, sizes, [&](RankedTensorType type) {
    return graph::SliceOp::create(builder, loc, type, use(x), at, step)
        .getResult();
  });
}

Val Emitter::sliceAxis(const Val &x, int64_t axis, int64_t start, int64_t size,
                       int64_t stride) {
  if (!x)
    return {};
  Dims offsets(x.rank(), 0), sizes = x.shape, strides(x.rank(), 1);
  offsets[axis] = start;
  sizes[axis] = size;
  strides[axis] = stride;
  return slice(x, offsets, sizes, strides);
}

Val Emitter::pad(const Val &x, const Val &value, DimsRef low, DimsRef high) {
  if (!x || !value)
    return {};
  Dims shape;
  bool none = true;
  for (size_t d = 0; d < low.size(); ++d) {
    auto sum = checkedAdd(low[d], high[d]);
    auto size = sum ? checkedAdd(*sum, x.shape[d]) : std::nullopt;
    if (!size)
      return fail("a padded dimension does not fit 63 bits");
    shape.push_back(*size);
    none &= low[d] == 0 && high[d] == 0;
  }
  if (none)
    return x;
  if (auto out = foldTarget(x.dtype, shape, {&x, &value})) {
    llvm::SmallVector<int64_t> zero(shape.size(), 0);
    foldStrided(*value.constant, 0, zero, *out);
    foldInsert(*x.constant, low, *out);
    return fromConstant(std::move(*out));
  }
  return make(x.dtype, shape, [&](RankedTensorType type) {
    return graph::PadOp::create(builder, loc, type, use(x), use(value), low,
                                high)
        .getResult();
  });
}

Val Emitter::concat(llvm::ArrayRef<Val> vals, int64_t axis) {
  if (vals.empty() || !vals.front())
    return {};
  const Val &first = vals.front();
  Dims shape = first.shape;
  bool known = first.constant != nullptr;
  for (const Val &val : vals.drop_front()) {
    if (!val)
      return {};
    if (val.dtype != first.dtype)
      return fail("expected operands of one type, found " + name(first.dtype) +
                  " and " + name(val.dtype));
    Dims other = val.shape;
    if (other.size() == shape.size())
      other[axis] = shape[axis];
    if (other != shape)
      return fail("cannot concatenate " + describe(first.shape) + " and " +
                  describe(val.shape) + " along axis " + llvm::Twine(axis));
    auto sum = checkedAdd(shape[axis], val.shape[axis]);
    if (!sum)
      return fail("the concatenated dimension does not fit 63 bits");
    shape[axis] = *sum;
    known &= val.constant != nullptr;
  }
  if (vals.size() == 1)
    return first;
  if (known)
    if (auto out = foldTarget(first.dtype, shape, {&first})) {
      llvm::SmallVector<int64_t> start(shape.size(), 0);
      for (const Val &val : vals) {
        foldInsert(*val.constant, start, *out);
        start[axis] += val.shape[axis];
      }
      return fromConstant(std::move(*out));
    }
  return make(first.dtype, shape, [&](RankedTensorType type) {
    llvm::SmallVector<mlir::Value> operands;
    for (const Val &val : vals)
      operands.push_back(use(val));
    return graph::ConcatOp::create(builder, loc, type, operands, axis)
        .getResult();
  });
}

Val Emitter::gather(const Val &x, const Val &indices, int64_t axis) {
  if (!x || !indices)
    return {};
  Dims shape(DimsRef(x.shape).take_front(axis));
  shape.append(indices.shape.begin(), indices.shape.end());
  shape.append(x.shape.begin() + axis + 1, x.shape.end());
  if (x.shape[axis] == 0 && !llvm::is_contained(shape, 0))
    return fail("cannot gather from an axis of size 0");
  if (auto out = foldTarget(x.dtype, shape, {&x, &indices})) {
    foldGather(*x.constant, *indices.constant, axis, *out);
    return fromConstant(std::move(*out));
  }
  return make(x.dtype, shape, [&](RankedTensorType type) {
    return graph::GatherOp::create(builder, loc, type, use(x), use(indices),
                                   axis)
        .getResult();
  });
}

Val Emitter::iota(DType dtype, DimsRef shape, int64_t dimension) {
  if (failed())
    return {};
  if (auto out = foldTarget(dtype, shape, {})) {
    foldIota(dimension, *out);
    return fromConstant(std::move(*out));
  }
  return make(dtype, shape, [&](RankedTensorType type) {
    return graph::IotaOp::create(builder, loc, type, dimension).getResult();
  });
}

Val Emitter::reduce(graph::ReduceKind kind, const Val &x, DimsRef dimensions,
                    bool keepDims) {
  if (!x || dimensions.empty())
    return x;
  Dims sorted(dimensions), shape, kept = x.shape;
  llvm::sort(sorted);
  for (int64_t d = 0; d < x.rank(); ++d)
    if (llvm::is_contained(sorted, d))
      kept[d] = 1;
    else
      shape.push_back(x.shape[d]);
  Val result;
  if (x.constant && x.elements() <= options.maxFoldElements)
    if (auto out = foldTarget(x.dtype, shape, {&x}))
      if (foldReduce(kind, *x.constant, sorted, *out))
        result = fromConstant(std::move(*out));
  if (!result)
    result = make(x.dtype, shape, [&](RankedTensorType type) {
      return graph::ReduceOp::create(builder, loc, type, kind, use(x), sorted)
          .getResult();
    });
  return keepDims ? reshape(result, kept) : result;
}
