//===- ImportActivations.cpp - activation functions -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;

/// A composite op with attributes after its operand.
template <typename OpT, typename... Args>
static Val activation(Operator &op, const Val &x, Args... args) {
  if (!x || !op.require(isFloat(x.dtype),
                        "expected a float tensor, found " + name(x.dtype)))
    return {};
  Emitter &emit = op.emit;
  return emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return OpT::create(emit.builder, emit.location(), type, emit.use(x),
                       emit.builder.getF64FloatAttr(args)...)
        .getResult();
  });
}

static void importRelu(Operator &op) {
  Val x = op.in(0);
  if (x)
    op.out(op.emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
      return graph::ReluOp::create(op.emit.builder, op.emit.location(), type,
                                   op.emit.use(x))
          .getResult();
    }));
}

static void importLeakyRelu(Operator &op) {
  double alpha = op.floatAttr("alpha", 0.01f);
  op.out(activation<graph::LeakyReluOp>(op, op.in(0), alpha));
}

static void importElu(Operator &op) {
  double alpha = op.floatAttr("alpha", 1);
  op.out(activation<graph::EluOp>(op, op.in(0), alpha));
}

static void importSelu(Operator &op) {
  double alpha = op.floatAttr("alpha", 1.67326319217681884765625f);
  double gamma = op.floatAttr("gamma", 1.05070102214813232421875f);
  Val elu = activation<graph::EluOp>(op, op.in(0), alpha);
  op.out(op.emit.binary<graph::MulOp>(elu, gamma));
}

/// x where x > 0, else alpha * expm1(x / alpha).
static void importCelu(Operator &op) {
  double alpha = op.floatAttr("alpha", 1);
  Emitter &emit = op.emit;
  Val x = op.in(0);
  if (!x || !op.require(isFloat(x.dtype), "expected a float tensor"))
    return;
  Val low = emit.binary<graph::MulOp>(
      emit.unary<graph::Expm1Op>(emit.binary<graph::DivOp>(x, alpha)), alpha);
  Val positive = emit.compare(ComparePredicate::gt, x, emit.scalar(x.dtype, 0));
  op.out(emit.select(positive, x, low));
}

static void importHardSigmoid(Operator &op) {
  double alpha = op.floatAttr("alpha", 0.2f), beta = op.floatAttr("beta", 0.5f);
  op.out(activation<graph::HardSigmoidOp>(op, op.in(0), alpha, beta));
}

static void importHardSwish(Operator &op) {
  Val x = op.in(0);
  op.out(op.emit.mul(
      x, activation<graph::HardSigmoidOp>(op, x, double(1.0f / 6), 0.5)));
}

static void importSoftplus(Operator &op) {
  op.out(activation<graph::SoftplusOp>(op, op.in(0)));
}

/// x / (1 + |x|).
static void importSoftsign(Operator &op) {
  Val x = op.in(0);
  Val magnitude = op.emit.unary<graph::AbsOp>(x);
  op.out(op.emit.div(x, op.emit.binary<graph::AddOp>(magnitude, 1)));
}

static void importMish(Operator &op) {
  Val x = op.in(0);
  Val gate = op.emit.unary<graph::TanhOp>(activation<graph::SoftplusOp>(op, x));
  op.out(op.emit.mul(x, gate));
}

/// x * logistic(alpha * x).
static void importSwish(Operator &op) {
  double alpha = op.floatAttr("alpha", 1);
  Val x = op.in(0);
  if (alpha == 1)
    return op.out(activation<graph::SiluOp>(op, x));
  Val gate = op.emit.binary<graph::MulOp>(x, alpha);
  op.out(op.emit.mul(x, op.emit.unary<graph::LogisticOp>(gate)));
}

static void importGelu(Operator &op) {
  std::string kind = op.stringAttr("approximate", "none");
  Val x = op.in(0);
  if (!x ||
      !op.require(kind == "none" || kind == "tanh",
                  "expected approximate none or tanh, found " + quoted(kind)) ||
      !op.require(isFloat(x.dtype), "expected a float tensor"))
    return;
  op.out(gelu(op, x,
              kind == "tanh" ? graph::GeluKind::tanh : graph::GeluKind::erf));
}

Val importer::gelu(Operator &op, const Val &x, graph::GeluKind kind) {
  if (!x)
    return {};
  return op.emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::GeluOp::create(op.emit.builder, op.emit.location(), type,
                                 op.emit.use(x), kind)
        .getResult();
  });
}

Val importer::silu(Operator &op, const Val &x) {
  return activation<graph::SiluOp>(op, x);
}

/// x * logistic(alpha * x) * gate, without broadcast.
static void importSwiGlu(Operator &op) {
  double alpha = op.floatAttr("alpha", 1);
  Val x = op.in(0), gate = op.in(1);
  if (!x || !gate ||
      !op.require(isFloat(x.dtype) && x.dtype == gate.dtype &&
                      x.shape == gate.shape,
                  "expected two equal float types"))
    return;
  Val swish = alpha == 1
                  ? silu(op, x)
                  : op.emit.mul(x, op.emit.unary<graph::LogisticOp>(
                                       op.emit.binary<graph::MulOp>(x, alpha)));
  op.out(op.emit.mul(swish, gate));
}

/// x where x > alpha, else 0.
static void importThresholdedRelu(Operator &op) {
  double alpha = op.floatAttr("alpha", 1);
  Val x = op.in(0);
  if (!x)
    return;
  Val above =
      op.emit.compare(ComparePredicate::gt, x, op.emit.scalar(x.dtype, alpha));
  op.out(op.emit.select(above, x, op.emit.scalar(x.dtype, 0)));
}

/// x + bias below -lambda, x - bias above lambda, else 0.
static void importShrink(Operator &op) {
  double bias = op.floatAttr("bias", 0), lambda = op.floatAttr("lambd", 0.5f);
  Emitter &emit = op.emit;
  Val x = op.in(0);
  if (!x || !op.require(isFloat(x.dtype) || (bias == int64_t(bias) &&
                                             lambda == int64_t(lambda)),
                        "expected integral attributes for integers"))
    return;
  Val below =
      emit.compare(ComparePredicate::lt, x, emit.scalar(x.dtype, -lambda));
  Val above =
      emit.compare(ComparePredicate::gt, x, emit.scalar(x.dtype, lambda));
  Val inner = emit.select(above, emit.binary<graph::SubOp>(x, bias),
                          emit.scalar(x.dtype, 0));
  op.out(emit.select(below, emit.binary<graph::AddOp>(x, bias), inner));
}

/// x where x >= 0, else slope * x; the slope broadcasts to x.
static void importPRelu(Operator &op) {
  Emitter &emit = op.emit;
  Val x = op.in(0), slope = op.in(1);
  if (!x || !slope)
    return;
  slope = emit.broadcastTo(slope, x.shape);
  Val below = emit.compare(ComparePredicate::lt, x, emit.scalar(x.dtype, 0));
  op.out(emit.select(below, emit.mul(x, slope), x));
}

void importer::addActivations(Registry &registry) {
  registry.add("Relu", importRelu);
  registry.add("LeakyRelu", importLeakyRelu);
  registry.add("Elu", importElu);
  registry.add("Selu", importSelu);
  registry.add("Celu", importCelu);
  registry.add("HardSigmoid", importHardSigmoid);
  registry.add("HardSwish", importHardSwish);
  registry.add("Softplus", importSoftplus);
  registry.add("Softsign", importSoftsign);
  registry.add("Mish", importMish);
  registry.add("Swish", importSwish);
  registry.add("SwiGLU", importSwiGlu);
  registry.add("Gelu", importGelu);
  registry.add("ThresholdedRelu", importThresholdedRelu);
  registry.add("Shrink", importShrink);
  registry.add("PRelu", importPRelu);
}
