//===- BuilderNormalize.cpp - normalisations of built graphs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Builder.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;

static fusec_value normalizeAxes(fusec_builder *builder, const char *step,
                                 const char *op, fusec_value x,
                                 const int32_t *dimensions, int32_t count) {
  return buildStep(builder, step, [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    Dims dims;
    if (!operand ||
        !b.readDims(dimensions, count, b.shapeOf(operand).size(), dims))
      return {};
    llvm::sort(dims);
    return b.make(op, operand, b.typeOf(operand),
                  b.attribute("dimensions", dims));
  });
}

fusec_value fusec_builder_softmax(fusec_builder *builder, fusec_value x,
                                  const int32_t *dimensions, int32_t count) {
  return normalizeAxes(builder, "softmax", "graph.softmax", x, dimensions,
                       count);
}

fusec_value fusec_builder_log_softmax(fusec_builder *builder, fusec_value x,
                                      const int32_t *dimensions,
                                      int32_t count) {
  return normalizeAxes(builder, "log_softmax", "graph.log_softmax", x,
                       dimensions, count);
}

fusec_value fusec_builder_layer_norm(fusec_builder *builder, fusec_value x,
                                     fusec_value scale, fusec_value bias,
                                     int32_t axis, double epsilon) {
  return buildStep(builder, "layer_norm", [&](GraphMaker &b) -> Value {
    SmallVector<Value> operands = {b.use(x), b.use(scale)};
    if (bias != FUSEC_NO_VALUE)
      operands.push_back(b.use(bias));
    int64_t dim;
    if (llvm::is_contained(operands, Value()) ||
        !b.readDim(axis, b.shapeOf(operands[0]).size(), dim))
      return {};
    return b.make("graph.layer_norm", operands, b.typeOf(operands[0]),
                  {b.integer("axis", dim), b.real("epsilon", epsilon)});
  });
}

fusec_value fusec_builder_rms_norm(fusec_builder *builder, fusec_value x,
                                   fusec_value scale, int32_t axis,
                                   double epsilon) {
  return buildStep(builder, "rms_norm", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x), factor = b.use(scale);
    int64_t dim;
    if (!operand || !factor || !b.readDim(axis, b.shapeOf(operand).size(), dim))
      return {};
    return b.make("graph.rms_norm", {operand, factor}, b.typeOf(operand),
                  {b.integer("axis", dim), b.real("epsilon", epsilon)});
  });
}

fusec_value fusec_builder_batch_norm(fusec_builder *builder, fusec_value x,
                                     fusec_value scale, fusec_value bias,
                                     fusec_value mean, fusec_value variance,
                                     int32_t channel, double epsilon) {
  return buildStep(builder, "batch_norm", [&](GraphMaker &b) -> Value {
    SmallVector<Value> operands;
    for (fusec_value value : {x, scale, bias, mean, variance})
      operands.push_back(b.use(value));
    int64_t dim;
    if (llvm::is_contained(operands, Value()) ||
        !b.readDim(channel, b.shapeOf(operands[0]).size(), dim))
      return {};
    return b.make("graph.batch_norm", operands, b.typeOf(operands[0]),
                  {b.integer("channel", dim), b.real("epsilon", epsilon)});
  });
}
