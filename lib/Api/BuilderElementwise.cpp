//===- BuilderElementwise.cpp - elementwise ops of built graphs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Builder.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;

/// In the order of fusec_unary.
static constexpr const char *kUnaryNames[] = {
    "graph.abs",    "graph.neg",      "graph.sign",     "graph.not",
    "graph.floor",  "graph.ceil",     "graph.trunc",    "graph.round",
    "graph.sqrt",   "graph.rsqrt",    "graph.cbrt",     "graph.exp",
    "graph.exp2",   "graph.expm1",    "graph.log",      "graph.log2",
    "graph.log1p",  "graph.sin",      "graph.cos",      "graph.tan",
    "graph.asin",   "graph.acos",     "graph.atan",     "graph.sinh",
    "graph.cosh",   "graph.tanh",     "graph.asinh",    "graph.acosh",
    "graph.atanh",  "graph.erf",      "graph.logistic", "graph.relu",
    "graph.silu",   "graph.softplus", "graph.gelu",     "graph.gelu",
    "graph.is_nan", "graph.is_inf"};
static_assert(std::size(kUnaryNames) == FUSEC_IS_INF + 1);

/// In the order of fusec_binary.
static constexpr const char *kBinaryNames[] = {
    "graph.add", "graph.sub", "graph.mul", "graph.div", "graph.rem",
    "graph.mod", "graph.pow", "graph.max", "graph.min", "graph.atan2",
    "graph.and", "graph.or",  "graph.xor", "graph.shl", "graph.shr"};
static_assert(std::size(kBinaryNames) == FUSEC_SHR + 1);

static_assert(FUSEC_EQ == int(graph::ComparePredicate::eq) &&
              FUSEC_LT == int(graph::ComparePredicate::lt) &&
              FUSEC_GE == int(graph::ComparePredicate::ge));

/// The op's name without the dialect, for messages.
static const char *mnemonic(const char *name) { return name + 6; }

fusec_value fusec_builder_unary(fusec_builder *builder, fusec_unary op,
                                fusec_value x) {
  if (op < 0 || size_t(op) >= std::size(kUnaryNames))
    return buildStep(builder, "unary", [&](GraphMaker &b) {
      return b.fail("expected an operator, 0 to " +
                    llvm::Twine(std::size(kUnaryNames) - 1) + ", found " +
                    llvm::Twine(op));
    });
  const char *name = kUnaryNames[op];
  return buildStep(builder, mnemonic(name), [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    if (!operand)
      return {};
    bool isPredicate = op == FUSEC_IS_NAN || op == FUSEC_IS_INF;
    RankedTensorType type = isPredicate
                                ? b.tensor(DType::Bool, b.shapeOf(operand))
                                : b.typeOf(operand);
    SmallVector<NamedAttribute> attributes;
    if (op == FUSEC_GELU || op == FUSEC_GELU_TANH)
      attributes.push_back(b.attribute(
          "kind",
          graph::GeluKindAttr::get(b.getContext(),
                                   op == FUSEC_GELU ? graph::GeluKind::erf
                                                    : graph::GeluKind::tanh)));
    return b.make(name, operand, type, attributes);
  });
}

fusec_value fusec_builder_leaky_relu(fusec_builder *builder, fusec_value x,
                                     double alpha) {
  return buildStep(builder, "leaky_relu", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    return operand ? b.make("graph.leaky_relu", operand, b.typeOf(operand),
                            b.real("alpha", alpha))
                   : Value();
  });
}

fusec_value fusec_builder_elu(fusec_builder *builder, fusec_value x,
                              double alpha) {
  return buildStep(builder, "elu", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    return operand ? b.make("graph.elu", operand, b.typeOf(operand),
                            b.real("alpha", alpha))
                   : Value();
  });
}

fusec_value fusec_builder_hard_sigmoid(fusec_builder *builder, fusec_value x,
                                       double alpha, double beta) {
  return buildStep(builder, "hard_sigmoid", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    return operand ? b.make("graph.hard_sigmoid", operand, b.typeOf(operand),
                            {b.real("alpha", alpha), b.real("beta", beta)})
                   : Value();
  });
}

/// Operands of one type and shape.
static bool unifyTyped(GraphMaker &b, MutableArrayRef<Value> values) {
  if (!b.unify(values))
    return false;
  for (Value value : values)
    if (b.dtypeOf(value) != b.dtypeOf(values.front())) {
      b.fail("expected operands of one element type, found " +
             name(b.dtypeOf(values.front())) + " and " +
             name(b.dtypeOf(value)));
      return false;
    }
  return true;
}

fusec_value fusec_builder_binary(fusec_builder *builder, fusec_binary op,
                                 fusec_value lhs, fusec_value rhs) {
  if (op < 0 || size_t(op) >= std::size(kBinaryNames))
    return buildStep(builder, "binary", [&](GraphMaker &b) {
      return b.fail("expected an operator, 0 to " +
                    llvm::Twine(std::size(kBinaryNames) - 1) + ", found " +
                    llvm::Twine(op));
    });
  const char *name = kBinaryNames[op];
  return buildStep(builder, mnemonic(name), [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(lhs), b.use(rhs)};
    if (!unifyTyped(b, operands))
      return {};
    return b.make(name, operands, b.typeOf(operands[0]));
  });
}

fusec_value fusec_builder_compare(fusec_builder *builder, fusec_comparison op,
                                  fusec_value lhs, fusec_value rhs) {
  return buildStep(builder, "compare", [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(lhs), b.use(rhs)};
    if (!unifyTyped(b, operands))
      return {};
    if (op < FUSEC_EQ || op > FUSEC_GE)
      return b.fail("expected a comparison, 0 to 5, found " + llvm::Twine(op));
    auto predicate = graph::ComparePredicateAttr::get(
        b.getContext(), static_cast<graph::ComparePredicate>(op));
    return b.make("graph.compare", operands,
                  b.tensor(DType::Bool, b.shapeOf(operands[0])),
                  b.attribute("predicate", predicate));
  });
}

fusec_value fusec_builder_select(fusec_builder *builder, fusec_value pred,
                                 fusec_value on_true, fusec_value on_false) {
  return buildStep(builder, "select", [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(pred), b.use(on_true), b.use(on_false)};
    if (!b.unify(operands))
      return {};
    return b.make("graph.select", operands, b.typeOf(operands[1]));
  });
}

fusec_value fusec_builder_clamp(fusec_builder *builder, fusec_value low,
                                fusec_value x, fusec_value high) {
  return buildStep(builder, "clamp", [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(low), b.use(x), b.use(high)};
    if (!unifyTyped(b, operands))
      return {};
    return b.make("graph.clamp", operands, b.typeOf(operands[1]));
  });
}

fusec_value fusec_builder_cast(fusec_builder *builder, fusec_value x,
                               fusec_dtype dtype) {
  return buildStep(builder, "cast", [&](GraphMaker &b) -> Value {
    Value operand = b.use(x);
    if (!operand || !b.checkDType(dtype))
      return {};
    return b.cast(operand, static_cast<DType>(dtype));
  });
}

fusec_value fusec_builder_quantize(fusec_builder *builder, fusec_value x,
                                   fusec_value scale, fusec_value zero_point) {
  return buildStep(builder, "quantize", [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(x), b.use(scale), b.use(zero_point)};
    if (!b.unify(operands))
      return {};
    return b.make("graph.quantize", operands, b.typeOf(operands[2]));
  });
}

fusec_value fusec_builder_dequantize(fusec_builder *builder, fusec_value x,
                                     fusec_value scale,
                                     fusec_value zero_point) {
  return buildStep(builder, "dequantize", [&](GraphMaker &b) -> Value {
    Value operands[] = {b.use(x), b.use(scale), b.use(zero_point)};
    if (!b.unify(operands))
      return {};
    return b.make("graph.dequantize", operands, b.typeOf(operands[1]));
  });
}
