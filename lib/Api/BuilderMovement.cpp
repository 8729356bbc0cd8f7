//===- BuilderMovement.cpp - movement ops of built graphs -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Builder.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;

fusec_value fusec_builder_broadcast(fusec_builder *builder, fusec_value x,
                                    int32_t rank, const int64_t *shape) {
  return buildStep(builder, "broadcast", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    Dims dims;
    if (!operand || !b.readShape(rank, shape, dims))
      return {};
    return b.broadcastTo(operand, dims);
  });
}

/// Replaces one -1 by what the elements leave for it.
static bool inferSize(GraphMaker &b, int64_t elements, Dims &shape) {
  auto *open = llvm::find(shape, -1);
  if (open == shape.end())
    return true;
  *open = 1;
  auto rest = elementCount(shape);
  if (!rest) {
    b.fail(llvm::toString(rest.takeError()));
    return false;
  }
  if (*rest == 0 || elements % *rest) {
    b.fail("the size -1 has no value: " + llvm::Twine(elements) +
           " elements do not divide by " + llvm::Twine(*rest));
    return false;
  }
  *open = elements / *rest;
  return true;
}

fusec_value fusec_builder_reshape(fusec_builder *builder, fusec_value x,
                                  int32_t rank, const int64_t *shape) {
  return buildStep(builder, "reshape", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    Dims dims;
    if (!operand || !b.readShape(rank, shape, dims) ||
        !inferSize(b, b.typeOf(operand).getNumElements(), dims))
      return {};
    return b.reshape(operand, dims);
  });
}

fusec_value fusec_builder_transpose(fusec_builder *builder, fusec_value x,
                                    const int32_t *permutation, int32_t count) {
  return buildStep(builder, "transpose", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    if (!operand)
      return {};
    DimsRef shape = b.shapeOf(operand);
    Dims dims, result;
    if (!b.readDims(permutation, count, shape.size(), dims))
      return {};
    if (dims.size() != shape.size())
      return b.fail("expected " + llvm::Twine(shape.size()) +
                    " dimensions, found " + llvm::Twine(count));
    for (int64_t dim : dims)
      result.push_back(shape[dim]);
    return b.make("graph.transpose", operand,
                  b.tensor(b.dtypeOf(operand), result),
                  b.attribute("permutation", dims));
  });
}

/// A list with one entry per dimension of `operand`.
static bool readPerDim(GraphMaker &b, Value operand, const char *what,
                       const int64_t *list, int32_t count, Dims &result) {
  size_t rank = b.shapeOf(operand).size();
  if (count < 0 || size_t(count) != rank || (count && !list)) {
    b.fail(llvm::Twine(what) + ": expected one entry for each of " +
           llvm::Twine(rank) + " dimensions, found " + llvm::Twine(count) +
           (list ? "" : " without a list"));
    return false;
  }
  result.assign(list, list + count);
  return true;
}

fusec_value fusec_builder_slice(fusec_builder *builder, fusec_value x,
                                const int64_t *offsets, const int64_t *sizes,
                                const int64_t *strides, int32_t count) {
  return buildStep(builder, "slice", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    Dims from, size, step;
    if (!operand || !readPerDim(b, operand, "offsets", offsets, count, from) ||
        !readPerDim(b, operand, "sizes", sizes, count, size))
      return {};
    step.assign(from.size(), 1);
    if (strides && !readPerDim(b, operand, "strides", strides, count, step))
      return {};
    if (llvm::is_contained(step, 0))
      return b.fail("expected strides other than 0");
    return b.make("graph.slice", operand, b.tensor(b.dtypeOf(operand), size),
                  {b.attribute("offsets", from), b.attribute("strides", step)});
  });
}

fusec_value fusec_builder_pad(fusec_builder *builder, fusec_value x,
                              fusec_value value, const int64_t *low,
                              const int64_t *high, int32_t count) {
  return buildStep(builder, "pad", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x), filler = b.use(value);
    Dims before, behind, result;
    if (!operand || !filler ||
        !readPerDim(b, operand, "low", low, count, before) ||
        !readPerDim(b, operand, "high", high, count, behind))
      return {};
    for (auto [size, l, h] : llvm::zip(b.shapeOf(operand), before, behind)) {
      auto sum = l < 0 || h < 0 ? std::nullopt : checkedAdd(l, h);
      if (sum)
        sum = checkedAdd(*sum, size);
      if (!sum)
        return b.fail("expected paddings of at least 0 that fit, found " +
                      llvm::Twine(l) + " and " + llvm::Twine(h));
      result.push_back(*sum);
    }
    return b.make("graph.pad", {operand, filler},
                  b.tensor(b.dtypeOf(operand), result),
                  {b.attribute("low", before), b.attribute("high", behind)});
  });
}

fusec_value fusec_builder_concat(fusec_builder *builder,
                                 const fusec_value *values, size_t count,
                                 int32_t axis) {
  return buildStep(builder, "concat", [&](GraphMaker &b) -> Value {
    if (!values || !count)
      return b.fail("expected at least one value, found none");
    SmallVector<Value> operands;
    for (size_t i = 0; i < count; ++i) {
      operands.push_back(b.use(values[i]));
      if (!operands.back())
        return {};
    }
    Dims shape(b.shapeOf(operands[0]));
    int64_t dim;
    if (!b.readDim(axis, shape.size(), dim))
      return {};
    for (Value operand : ArrayRef(operands).drop_front()) {
      DimsRef other = b.shapeOf(operand);
      if (other.size() != shape.size())
        return b.fail("expected operands of one rank, found " +
                      llvm::Twine(shape.size()) + " and " +
                      llvm::Twine(other.size()));
      auto sum = checkedAdd(shape[dim], other[dim]);
      if (!sum)
        return b.fail("the sizes are out of range");
      shape[dim] = *sum;
    }
    return b.make("graph.concat", operands,
                  b.tensor(b.dtypeOf(operands[0]), shape),
                  b.integer("axis", dim));
  });
}

//===----------------------------------------------------------------------===//
// Indexed
//===----------------------------------------------------------------------===//

fusec_value fusec_builder_gather(fusec_builder *builder, fusec_value x,
                                 fusec_value indices, int32_t axis) {
  return buildStep(builder, "gather", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x), index = b.use(indices);
    int64_t dim;
    if (!operand || !index || !b.readDim(axis, b.shapeOf(operand).size(), dim))
      return {};
    DimsRef shape = b.shapeOf(operand);
    Dims result(shape.take_front(dim));
    llvm::append_range(result, b.shapeOf(index));
    llvm::append_range(result, shape.drop_front(dim + 1));
    return b.make("graph.gather", {operand, index},
                  b.tensor(b.dtypeOf(operand), result), b.integer("axis", dim));
  });
}

fusec_value fusec_builder_gather_elements(fusec_builder *builder, fusec_value x,
                                          fusec_value indices, int32_t axis) {
  return buildStep(builder, "gather_elements", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x), index = b.use(indices);
    int64_t dim;
    if (!operand || !index || !b.readDim(axis, b.shapeOf(operand).size(), dim))
      return {};
    return b.make("graph.gather_elements", {operand, index},
                  b.tensor(b.dtypeOf(operand), b.shapeOf(index)),
                  b.integer("axis", dim));
  });
}

fusec_value fusec_builder_gather_nd(fusec_builder *builder, fusec_value x,
                                    fusec_value indices, int32_t batch_dims) {
  return buildStep(builder, "gather_nd", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x), index = b.use(indices);
    if (!operand || !index)
      return {};
    DimsRef shape = b.shapeOf(operand), places = b.shapeOf(index);
    if (places.empty() || batch_dims < 0 || size_t(batch_dims) >= places.size())
      return b.fail("expected batch_dims from 0 to below the rank of indices, "
                    "found " +
                    llvm::Twine(batch_dims) + " and rank " +
                    llvm::Twine(places.size()));
    int64_t depth = places.back();
    auto rest = static_cast<int64_t>(shape.size()) - batch_dims;
    if (depth < 0 || depth > rest)
      return b.fail("index vectors of " + llvm::Twine(depth) +
                    " entries do not fit rank " + llvm::Twine(shape.size()));
    Dims result(places.drop_back());
    llvm::append_range(result, shape.drop_front(batch_dims + depth));
    return b.make("graph.gather_nd", {operand, index},
                  b.tensor(b.dtypeOf(operand), result),
                  b.integer("batchDims", batch_dims));
  });
}

static_assert(FUSEC_SCATTER_ADD == int(graph::ScatterKind::add) &&
              FUSEC_SCATTER_MIN == int(graph::ScatterKind::min));

static NamedAttribute scatterKind(GraphMaker &b, fusec_scatter kind) {
  return b.attribute(
      "kind", graph::ScatterKindAttr::get(
                  b.getContext(), static_cast<graph::ScatterKind>(kind)));
}

static bool checkScatter(GraphMaker &b, fusec_scatter kind) {
  if (kind >= FUSEC_SCATTER_ASSIGN && kind <= FUSEC_SCATTER_MIN)
    return true;
  b.fail("expected a kind of scatter, 0 to 4, found " + llvm::Twine(kind));
  return false;
}

fusec_value fusec_builder_scatter_nd(fusec_builder *builder, fusec_scatter kind,
                                     fusec_value x, fusec_value indices,
                                     fusec_value updates) {
  return buildStep(builder, "scatter_nd", [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(x), b.use(indices), b.use(updates)};
    if (!operands[0] || !operands[1] || !operands[2] || !checkScatter(b, kind))
      return {};
    return b.make("graph.scatter_nd", operands, b.typeOf(operands[0]),
                  scatterKind(b, kind));
  });
}

fusec_value fusec_builder_scatter_elements(fusec_builder *builder,
                                           fusec_scatter kind, fusec_value x,
                                           fusec_value indices,
                                           fusec_value updates, int32_t axis) {
  return buildStep(builder, "scatter_elements", [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(x), b.use(indices), b.use(updates)};
    int64_t dim;
    if (!operands[0] || !operands[1] || !operands[2] ||
        !checkScatter(b, kind) ||
        !b.readDim(axis, b.shapeOf(operands[0]).size(), dim))
      return {};
    return b.make("graph.scatter_elements", operands, b.typeOf(operands[0]),
                  {scatterKind(b, kind), b.integer("axis", dim)});
  });
}
