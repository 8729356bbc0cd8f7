//===- Composites.cpp - ops that stand for several ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Writer.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

static FloatAttr f64(Writer &w, double x) {
  return w.builder.getF64FloatAttr(x);
}

static Value anyRankedReal(Writer &w) {
  return w.anyOf(
      [](Value v) {
        return Writer::isReal(v) && Writer::typeOf(v).getRank() > 0;
      },
      [&] {
        Shape shape = w.shape(1, 4);
        DType dtype = w.floatType();
        return w.fresh(shape, dtype);
      });
}

static Value activation(Writer &w) {
  Value x = w.anyReal();
  if (!x)
    return {};
  Type type = x.getType();
  double alpha = double(w.rng.between(-4, 8)) / 8;
  switch (w.rng.below(7)) {
  case 0:
    return w.op<graph::LeakyReluOp>(type, x, f64(w, alpha));
  case 1:
    return w.op<graph::EluOp>(type, x, f64(w, alpha));
  case 2:
    return w.op<graph::HardSigmoidOp>(type, x, f64(w, alpha), f64(w, 0.5));
  case 3:
    return w.op<graph::GeluOp>(type, x, graph::GeluKind::erf);
  case 4:
    return w.op<graph::GeluOp>(type, x, graph::GeluKind::tanh);
  case 5:
    return w.op<graph::SiluOp>(type, x);
  default:
    return w.op<graph::SoftplusOp>(type, x);
  }
}

static Value softmax(Writer &w) {
  Value x = anyRankedReal(w);
  if (!x)
    return {};
  int64_t rank = w.typeOf(x).getRank();
  Shape dims = {w.rng.chance(1, 2) ? rank - 1 : w.rng.below(rank)};
  if (rank > 1 && w.rng.chance(1, 5))
    dims = {0, rank - 1};
  if (w.rng.chance(1, 3))
    return w.op<graph::LogSoftmaxOp>(x.getType(), x, ArrayRef<int64_t>(dims));
  return w.op<graph::SoftmaxOp>(x.getType(), x, ArrayRef<int64_t>(dims));
}

static Value norm(Writer &w) {
  Value x = anyRankedReal(w);
  if (!x)
    return {};
  Shape shape = w.shapeOf(x);
  int64_t axis =
      w.rng.chance(1, 2) ? shape.size() - 1 : w.rng.below(shape.size());
  auto tail = ArrayRef(shape).drop_front(axis);
  Value scale = w.fitting(tail, w.dtypeOf(x));
  FloatAttr epsilon = f64(w, w.rng.chance(3, 4) ? 0x1p-17 : 0.0);
  if (w.rng.chance(1, 3))
    return w.op<graph::RmsNormOp>(x.getType(), x, scale,
                                  w.builder.getI64IntegerAttr(axis), epsilon);
  Value bias = w.rng.chance(1, 2) ? w.fitting(tail, w.dtypeOf(x)) : Value();
  OperationState state(w.builder.getUnknownLoc(),
                       graph::LayerNormOp::getOperationName());
  graph::LayerNormOp::build(w.builder, state, x.getType(), x, scale, bias,
                            w.builder.getI64IntegerAttr(axis), epsilon);
  return w.make(state);
}

static Value batchNorm(Writer &w) {
  Value x = anyRankedReal(w);
  if (!x)
    return {};
  int64_t channel = w.rng.below(w.typeOf(x).getRank());
  Shape size = {w.shapeOf(x)[channel]};
  SmallVector<Value> statistics;
  for (int i = 0; i < 4; ++i)
    statistics.push_back(w.fitting(size, w.dtypeOf(x)));
  if (llvm::is_contained(statistics, Value()))
    return {};
  return w.op<graph::BatchNormOp>(
      x.getType(), x, statistics[0], statistics[1], statistics[2],
      statistics[3], w.builder.getI64IntegerAttr(channel), f64(w, 0x1p-10));
}

void fuzz::appendCompositeRecipes(SmallVectorImpl<WeightedRecipe> &recipes) {
  recipes.append({{activation, 5}, {softmax, 5}, {norm, 4}, {batchNorm, 2}});
}
