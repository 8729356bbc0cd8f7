//===- BuilderReduction.cpp - reductions of built graphs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BuilderWindow.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;

static_assert(FUSEC_SUM == int(graph::ReduceKind::sum) &&
              FUSEC_PROD == int(graph::ReduceKind::prod) &&
              FUSEC_REDUCE_MAX == int(graph::ReduceKind::max) &&
              FUSEC_REDUCE_MIN == int(graph::ReduceKind::min) &&
              FUSEC_ALL == int(graph::ReduceKind::all) &&
              FUSEC_ANY == int(graph::ReduceKind::any));

static bool checkKind(GraphMaker &b, fusec_reduction kind) {
  if (kind >= FUSEC_SUM && kind <= FUSEC_ANY)
    return true;
  b.fail("expected a kind of reduction, 0 to 5, found " + llvm::Twine(kind));
  return false;
}

static NamedAttribute kindAttribute(GraphMaker &b, fusec_reduction kind) {
  return b.attribute(
      "kind", graph::ReduceKindAttr::get(b.getContext(),
                                         static_cast<graph::ReduceKind>(kind)));
}

/// The shape without `dims`, or with 1 there.
static Dims dropDims(DimsRef shape, DimsRef dims, bool keep) {
  Dims result;
  for (auto [i, size] : llvm::enumerate(shape)) {
    bool dropped = llvm::is_contained(dims, static_cast<int64_t>(i));
    if (!dropped || keep)
      result.push_back(dropped ? 1 : size);
  }
  return result;
}

static Value reduce(GraphMaker &b, fusec_reduction kind, Value operand,
                    DimsRef dims, bool keepDims) {
  Dims sorted(dims);
  llvm::sort(sorted);
  DimsRef shape = b.shapeOf(operand);
  Value result =
      b.make("graph.reduce", operand,
             b.tensor(b.dtypeOf(operand), dropDims(shape, sorted, false)),
             {kindAttribute(b, kind), b.attribute("dimensions", sorted)});
  return keepDims ? b.reshape(result, dropDims(shape, sorted, true)) : result;
}

fusec_value fusec_builder_reduce(fusec_builder *builder, fusec_reduction kind,
                                 fusec_value x, const int32_t *dimensions,
                                 int32_t count, int keep_dims) {
  return buildStep(builder, "reduce", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    Dims dims;
    if (!operand || !checkKind(b, kind) ||
        !b.readDims(dimensions, count, b.shapeOf(operand).size(), dims))
      return {};
    return reduce(b, kind, operand, dims, keep_dims != 0);
  });
}

fusec_value fusec_builder_mean(fusec_builder *builder, fusec_value x,
                               const int32_t *dimensions, int32_t count,
                               int keep_dims) {
  return buildStep(builder, "mean", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    Dims dims;
    if (!operand ||
        !b.readDims(dimensions, count, b.shapeOf(operand).size(), dims))
      return {};
    DType dtype = b.dtypeOf(operand);
    if (!isFloat(dtype))
      return b.fail("expected floats, found " + name(dtype));
    double elements = 1;
    for (int64_t dim : dims)
      elements *= static_cast<double>(b.shapeOf(operand)[dim]);
    // A sum of narrow floats would overflow or round before it is divided.
    DType wide = precisionBits(dtype) < 24 ? DType::F32 : dtype;
    Value sum = b.cast(operand, wide);
    if (sum)
      sum = reduce(b, FUSEC_SUM, sum, dims, keep_dims != 0);
    if (!sum)
      return {};
    Value divisor = b.broadcastTo(b.scalar(wide, elements), b.shapeOf(sum));
    if (!divisor)
      return {};
    return b.cast(b.make("graph.div", {sum, divisor}, b.typeOf(sum)), dtype);
  });
}

fusec_value fusec_builder_arg_reduce(fusec_builder *builder,
                                     fusec_reduction kind, fusec_value x,
                                     int32_t dimension, int select_last) {
  return buildStep(builder, "arg_reduce", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    int64_t dim;
    if (!operand || !checkKind(b, kind) ||
        !b.readDim(dimension, b.shapeOf(operand).size(), dim))
      return {};
    return b.make(
        "graph.arg_reduce", operand,
        b.tensor(DType::I64, dropDims(b.shapeOf(operand), dim, false)),
        {kindAttribute(b, kind), b.integer("dimension", dim),
         b.flag("selectLast", select_last != 0)});
  });
}

void fusec_builder_top_k(fusec_builder *builder, fusec_reduction kind,
                         fusec_value x, int32_t k, int32_t dimension,
                         fusec_value results[2]) {
  using Values = llvm::SmallVector<Value>;
  buildSteps(builder, "top_k", results, 2, [&](GraphMaker &b) -> Values {
    Value operand = b.use(x);
    int64_t dim;
    if (!operand || !checkKind(b, kind) ||
        !b.readDim(dimension, b.shapeOf(operand).size(), dim))
      return {};
    // Before anything of that size is made.
    constexpr int32_t kMostEntries = 64;
    if (k < 1 || k > kMostEntries) {
      b.fail("expected k from 1 to " + llvm::Twine(kMostEntries) + ", found " +
             llvm::Twine(k));
      return {};
    }
    auto type = b.tensor(DType::I64, dropDims(b.shapeOf(operand), dim, false));
    Values places =
        b.makeLoop("graph.top_k", operand, llvm::SmallVector<Type>(k, type),
                   {kindAttribute(b, kind), b.integer("dimension", dim)}, {});
    Dims kept(b.shapeOf(operand)), all = kept;
    kept[dim] = 1;
    all[dim] = k;
    Values found;
    for (Value &place : places) {
      if (!(place = b.reshape(place, kept)))
        return {};
      found.push_back(b.make("graph.gather_elements", {operand, place},
                             b.tensor(b.dtypeOf(operand), kept),
                             b.integer("axis", dim)));
      if (!found.back())
        return {};
    }
    if (places.empty())
      return {};
    auto join = [&](Values &pieces) {
      return b.make("graph.concat", pieces,
                    b.tensor(b.dtypeOf(pieces.front()), all),
                    b.integer("axis", dim));
    };
    Value values = join(found);
    return {values, values ? join(places) : Value()};
  });
}

fusec_value fusec_builder_cumulative(fusec_builder *builder,
                                     fusec_reduction kind, fusec_value x,
                                     int32_t dimension, int exclusive,
                                     int reverse) {
  return buildStep(builder, "cumulative", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    int64_t dim;
    if (!operand || !checkKind(b, kind) ||
        !b.readDim(dimension, b.shapeOf(operand).size(), dim))
      return {};
    return b.make("graph.cumulative", operand, b.typeOf(operand),
                  {kindAttribute(b, kind), b.integer("dimension", dim),
                   b.flag("exclusive", exclusive != 0),
                   b.flag("reverse", reverse != 0)});
  });
}

fusec_value fusec_builder_window_reduce(fusec_builder *builder,
                                        fusec_reduction kind, fusec_value x,
                                        const fusec_window *window) {
  return buildStep(builder, "window_reduce", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    Window w;
    if (!operand || !checkKind(b, kind) ||
        !readWindow(b, window, b.shapeOf(operand).size(), w))
      return {};
    Dims shape;
    for (auto [i, size] : llvm::enumerate(b.shapeOf(operand))) {
      int64_t places;
      if (!countPlaces(b, size, w.window[i], w, i, places))
        return {};
      shape.push_back(places);
    }
    return b.make("graph.window_reduce", operand,
                  b.tensor(b.dtypeOf(operand), shape),
                  {kindAttribute(b, kind), b.attribute("window", w.window),
                   b.attribute("strides", w.strides),
                   b.attribute("dilations", w.dilations),
                   b.attribute("low", w.low), b.attribute("high", w.high)});
  });
}
