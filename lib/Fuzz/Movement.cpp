//===- Movement.cpp - ops that move elements ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Writer.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

static bool hasDims(Value value) { return Writer::typeOf(value).getRank() > 0; }
static bool isFull(Value value) {
  return hasDims(value) && Writer::typeOf(value).getNumElements() > 0;
}

static Value anyRanked(Writer &w, bool full = false) {
  return w.anyOf(full ? isFull : hasDims, [&] {
    Shape shape = w.shape(1, 5);
    if (full)
      for (int64_t &size : shape)
        size = std::max<int64_t>(size, 1);
    DType dtype = w.dtype();
    return w.fresh(shape, dtype);
  });
}

static Value broadcast(Writer &w) {
  Value value = w.any();
  if (!value)
    return {};
  Shape from = w.shapeOf(value), to;
  SmallVector<int64_t> dims;
  for (int64_t size : from) {
    if (w.rng.chance(1, 3) && to.size() < 6)
      to.push_back(w.size());
    dims.push_back(to.size());
    to.push_back(size == 1 && w.rng.chance(2, 3) ? w.size() : size);
  }
  if ((from.empty() || w.rng.chance(1, 3)) && to.size() < 7)
    to.push_back(w.size());
  return w.broadcast(value, to, dims);
}

/// Sizes of the same product.
static Shape refactored(Writer &w, ArrayRef<int64_t> shape) {
  Shape result(shape);
  for (int64_t i = 0, n = w.rng.between(1, 3); i < n; ++i) {
    if (result.size() > 1 && w.rng.chance(1, 2)) { // join two neighbours
      int64_t at = w.rng.below(result.size() - 1);
      result[at] *= result[at + 1];
      result.erase(result.begin() + at + 1);
      continue;
    }
    if (result.size() >= 6)
      continue;
    int64_t at = w.rng.below(result.size() + 1), factor = 1;
    if (at < int64_t(result.size()) && result[at] > 0) { // split one
      for (int64_t f : {2, 3, 4, 5, 7, 8, 16, 32})
        if (result[at] % f == 0 && w.rng.chance(1, 2))
          factor = f;
      result[at] /= factor;
    }
    result.insert(result.begin() + at, factor);
  }
  return result;
}

static Value reshape(Writer &w) {
  Value value = w.any();
  if (!value)
    return {};
  Shape shape = refactored(w, w.shapeOf(value));
  return w.op<graph::ReshapeOp>(w.tensor(shape, w.dtypeOf(value)), value);
}

static Value transpose(Writer &w) {
  Value value = anyRanked(w);
  if (!value)
    return {};
  Shape from = w.shapeOf(value), to;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, from.size()));
  w.rng.shuffle(order);
  for (int64_t dim : order)
    to.push_back(from[dim]);
  return w.op<graph::TransposeOp>(w.tensor(to, w.dtypeOf(value)), value,
                                  ArrayRef<int64_t>(order));
}

static Value slice(Writer &w) {
  Value value = anyRanked(w);
  if (!value)
    return {};
  Shape to, offsets, strides;
  for (int64_t size : w.shapeOf(value)) {
    int64_t stride = 1, count = size, offset = 0;
    if (w.rng.chance(1, 2) && size > 0) {
      stride = w.rng.chance(1, 3) ? w.rng.between(-3, 3) : 1;
      stride = stride == 0 ? 1 : stride;
      int64_t most = (size - 1) / std::abs(stride) + 1;
      count = w.rng.chance(1, 20) ? 0 : w.rng.between((most + 1) / 2, most);
      int64_t span = std::max<int64_t>(count - 1, 0) * std::abs(stride);
      offset = w.rng.below(size - span);
      if (stride < 0)
        offset += span;
    }
    to.push_back(count);
    offsets.push_back(offset);
    strides.push_back(stride);
  }
  return w.op<graph::SliceOp>(w.tensor(to, w.dtypeOf(value)), value,
                              ArrayRef<int64_t>(offsets),
                              ArrayRef<int64_t>(strides));
}

static Value pad(Writer &w) {
  Value value = w.any();
  if (!value)
    return {};
  Shape to, low, high;
  for (int64_t size : w.shapeOf(value)) {
    bool padded = w.rng.chance(1, 2);
    low.push_back(padded ? w.rng.below(4) : 0);
    high.push_back(padded ? w.rng.below(4) : 0);
    to.push_back(size + low.back() + high.back());
  }
  Value filler = w.fitting({}, w.dtypeOf(value));
  return w.op<graph::PadOp>(w.tensor(to, w.dtypeOf(value)), value, filler,
                            ArrayRef<int64_t>(low), ArrayRef<int64_t>(high));
}

static Value concat(Writer &w) {
  Value value = anyRanked(w);
  if (!value)
    return {};
  Shape shape = w.shapeOf(value);
  int64_t axis = w.rng.below(shape.size()), total = shape[axis];
  SmallVector<Value> parts = {value};
  for (int64_t i = 0, n = w.rng.below(4); i < n; ++i) {
    Shape other = shape;
    if (w.rng.chance(1, 2))
      other[axis] = w.size();
    w.shrink(other);
    if (ArrayRef(other).drop_front(axis + 1) !=
            ArrayRef(shape).drop_front(axis + 1) ||
        ArrayRef(other).take_front(axis) != ArrayRef(shape).take_front(axis))
      continue;
    Value part = w.fitting(other, w.dtypeOf(value));
    if (!part)
      continue;
    parts.push_back(part);
    total += other[axis];
  }
  w.rng.shuffle(parts);
  shape[axis] = total;
  return w.op<graph::ConcatOp>(w.tensor(shape, w.dtypeOf(value)), parts, axis);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Indices for an axis of `size`: given ones, or computed ones.
static Value indicesFor(Writer &w, ArrayRef<int64_t> shape, int64_t size) {
  static constexpr DType kTypes[] = {DType::I64, DType::I64, DType::I32,
                                     DType::I8,  DType::U8,  DType::U32};
  DType dtype = w.rng.pick(kTypes);
  Value given = w.given(randomIndices(w.rng, dtype, shape, size));
  if (w.rng.chance(1, 4))
    if (Value other = w.fitting(shape, dtype))
      return w.op<graph::AddOp>(given, other);
  return given;
}

static Value gather(Writer &w) {
  Value value = anyRanked(w, true);
  if (!value)
    return {};
  Shape from = w.shapeOf(value), list = w.shape(0, 2), to;
  int64_t axis = w.rng.below(from.size());
  w.shrink(list, std::max<int64_t>(1, kMaxElements * from[axis] /
                                          w.typeOf(value).getNumElements()));
  for (int64_t d = 0; d < int64_t(from.size()); ++d) {
    if (d == axis)
      llvm::append_range(to, list);
    else
      to.push_back(from[d]);
  }
  Value indices = indicesFor(w, list, from[axis]);
  return w.op<graph::GatherOp>(w.tensor(to, w.dtypeOf(value)), value, indices,
                               axis);
}

static Value gatherElements(Writer &w) {
  Value value = anyRanked(w, true);
  if (!value)
    return {};
  Shape shape = w.shapeOf(value);
  int64_t axis = w.rng.below(shape.size()), size = shape[axis];
  shape[axis] = w.size();
  w.shrink(shape);
  Value indices = indicesFor(w, shape, size);
  return w.op<graph::GatherElementsOp>(w.tensor(shape, w.dtypeOf(value)), value,
                                       indices, axis);
}

static Value gatherNd(Writer &w) {
  Value value = anyRanked(w, true);
  if (!value)
    return {};
  Shape from = w.shapeOf(value);
  int64_t rank = from.size();
  int64_t batch = w.rng.below(rank), length = w.rng.between(0, rank - batch);
  Shape list(ArrayRef(from).take_front(batch));
  list.push_back(w.rng.between(0, 5));
  Shape to(list);
  llvm::append_range(to, ArrayRef(from).drop_front(batch + length));
  list.push_back(length);
  int64_t least = 1 << 20;
  for (int64_t k = 0; k < length; ++k)
    least = std::min(least, from[batch + k]);
  Value indices = indicesFor(w, list, length ? least : 1);
  return w.op<graph::GatherNdOp>(w.tensor(to, w.dtypeOf(value)), value, indices,
                                 batch);
}

static constexpr graph::ScatterKind kScatterKinds[] = {
    graph::ScatterKind::assign, graph::ScatterKind::add,
    graph::ScatterKind::mul, graph::ScatterKind::max, graph::ScatterKind::min};

static Value scatterNd(Writer &w) {
  Value value = anyRanked(w);
  if (!value)
    return {};
  Shape from = w.shapeOf(value), list;
  int64_t length = w.rng.between(0, from.size());
  list.push_back(w.rng.between(0, 6));
  Shape updates(list);
  llvm::append_range(updates, ArrayRef(from).drop_front(length));
  list.push_back(length);
  int64_t least = 1 << 20;
  for (int64_t k = 0; k < length; ++k)
    least = std::min(least, from[k]);
  Value indices = indicesFor(w, list, length ? least : 1);
  Value update = w.fitting(updates, w.dtypeOf(value));
  auto kind = w.rng.pick(kScatterKinds);
  return w.op<graph::ScatterNdOp>(value.getType(), kind, value, indices,
                                  update);
}

static Value scatterElements(Writer &w) {
  Value value = anyRanked(w);
  if (!value)
    return {};
  Shape shape = w.shapeOf(value);
  int64_t axis = w.rng.below(shape.size()), size = shape[axis];
  for (auto [d, extent] : llvm::enumerate(shape))
    extent = int64_t(d) == axis ? w.rng.between(0, 6)
                                : w.rng.between((extent + 1) / 2, extent);
  Value indices = indicesFor(w, shape, size);
  Value update = w.fitting(shape, w.dtypeOf(value));
  auto kind = w.rng.pick(kScatterKinds);
  return w.op<graph::ScatterElementsOp>(value.getType(), kind, value, indices,
                                        update, axis);
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

static Value iota(Writer &w) {
  Shape shape = w.shape(1, 4);
  DType dtype = w.rng.chance(1, 2) ? w.intType() : w.floatType();
  int64_t dim = w.rng.below(shape.size());
  return w.op<graph::IotaOp>(w.tensor(shape, dtype), dim);
}

static Value philox(Writer &w) {
  Shape shape = w.shape(0, 3);
  Value seed = w.fitting({}, DType::U64), offset = w.fitting({}, DType::U64);
  if (!seed || !offset)
    return {};
  Value bits = w.op<graph::PhiloxOp>(w.tensor(shape, DType::U32), seed, offset);
  if (!bits || w.rng.chance(1, 2))
    return bits;
  return w.cast(bits, DType::F32);
}

static Value source(Writer &w) {
  Shape shape = w.shape();
  DType dtype = w.dtype();
  return w.fresh(shape, dtype);
}

void fuzz::appendMovementRecipes(SmallVectorImpl<WeightedRecipe> &recipes) {
  recipes.append({{broadcast, 5},
                  {reshape, 5},
                  {transpose, 5},
                  {slice, 5},
                  {pad, 4},
                  {concat, 5},
                  {gather, 4},
                  {gatherElements, 2},
                  {gatherNd, 2},
                  {scatterNd, 2},
                  {scatterElements, 2},
                  {iota, 1},
                  {philox, 1},
                  {source, 2}});
}
