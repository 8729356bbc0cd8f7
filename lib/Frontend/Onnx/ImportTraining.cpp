//===- ImportTraining.cpp - optimizer steps -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ai.onnx.preview.training: a step size, a step count, then for each tensor the
// weight, its gradient and the optimizer's state; weights and states come out.
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;

namespace {
/// One tensor's inputs of a step.
struct Tensors {
  Val rate, count; // rank 0, of the weight's type
  Val weight, gradient;
  llvm::SmallVector<Val> states;
};
} // namespace

static Val times(Operator &op, const Val &x, double factor) {
  return op.emit.binary<graph::MulOp>(x, factor);
}

/// Calls `step`, which returns the new weight and states, for every tensor.
static void forEachTensor(
    Operator &op, size_t states,
    llvm::function_ref<llvm::SmallVector<Val>(const Tensors &)> step) {
  Emitter &emit = op.emit;
  double norm = op.floatAttr("norm_coefficient", 0);
  size_t each = 2 + states, given = op.inputCount();
  if (!op.require(given > 2 && (given - 2) % each == 0,
                  "unexpected number of inputs"))
    return;
  size_t tensors = (given - 2) / each;
  Val rate = op.in(0), count = op.in(1);
  if (!rate || !count ||
      !op.require(rate.elements() == 1 && count.elements() == 1,
                  "expected one step size and one step count"))
    return;
  for (size_t i = 0; i < tensors; ++i) {
    Tensors t;
    t.weight = op.in(2 + i);
    if (!t.weight || !op.require(isFloat(t.weight.dtype), "expected floats"))
      return;
    DType dtype = t.weight.dtype;
    t.rate = emit.cast(emit.reshape(rate, {}), dtype);
    t.count = emit.cast(emit.reshape(count, {}), dtype);
    t.gradient = emit.add(times(op, t.weight, norm), op.in(2 + tensors + i));
    for (size_t s = 0; s < states; ++s)
      t.states.push_back(op.in(2 + (2 + s) * tensors + i));
    llvm::SmallVector<Val> results = step(t);
    for (size_t r = 0; r < results.size(); ++r)
      op.out(r * tensors + i, results[r]);
  }
}

static void importMomentum(Operator &op) {
  Emitter &emit = op.emit;
  double alpha = op.floatAttr("alpha", 0), beta = op.floatAttr("beta", 0);
  std::string mode = op.stringAttr("mode", "standard");
  if (!op.require(mode == "standard" || mode == "nesterov",
                  "unknown mode " + quoted(mode)))
    return;
  forEachTensor(op, 1, [&](const Tensors &t) -> llvm::SmallVector<Val> {
    DType dtype = t.weight.dtype;
    // The first step takes the whole gradient.
    Val share = emit.select(
        emit.compare(ComparePredicate::gt, t.count, emit.scalar(dtype, 0)),
        emit.scalar(dtype, beta), emit.scalar(dtype, 1));
    Val momentum =
        emit.add(times(op, t.states[0], alpha), emit.mul(share, t.gradient));
    Val move = momentum;
    if (mode == "nesterov")
      move = emit.add(t.gradient, times(op, momentum, alpha));
    return {emit.sub(t.weight, emit.mul(t.rate, move)), momentum};
  });
}

static void importAdagrad(Operator &op) {
  Emitter &emit = op.emit;
  double decay = op.floatAttr("decay_factor", 0);
  double epsilon = op.floatAttr("epsilon", 1e-6f);
  forEachTensor(op, 1, [&](const Tensors &t) -> llvm::SmallVector<Val> {
    Val rate = emit.div(
        t.rate, emit.binary<graph::AddOp>(times(op, t.count, decay), 1));
    Val squares = emit.add(t.states[0], emit.mul(t.gradient, t.gradient));
    Val root =
        emit.binary<graph::AddOp>(emit.unary<graph::SqrtOp>(squares), epsilon);
    return {emit.sub(t.weight, emit.div(emit.mul(rate, t.gradient), root)),
            squares};
  });
}

static void importAdam(Operator &op) {
  Emitter &emit = op.emit;
  double alpha = op.floatAttr("alpha", 0.9f),
         beta = op.floatAttr("beta", 0.999f);
  double epsilon = op.floatAttr("epsilon", 1e-6f);
  double after = op.floatAttr("norm_coefficient_post", 0);
  forEachTensor(op, 2, [&](const Tensors &t) -> llvm::SmallVector<Val> {
    DType dtype = t.weight.dtype;
    Val first = emit.add(times(op, t.states[0], alpha),
                         times(op, t.gradient, 1 - alpha));
    Val second =
        emit.add(times(op, t.states[1], beta),
                 times(op, emit.mul(t.gradient, t.gradient), 1 - beta));
    Val root =
        emit.binary<graph::AddOp>(emit.unary<graph::SqrtOp>(second), epsilon);
    auto rest = [&](double factor) { // 1 - factor^count
      return emit.sub(
          emit.scalar(dtype, 1),
          emit.binary<graph::PowOp>(emit.scalar(dtype, factor), t.count));
    };
    Val corrected = emit.div(
        emit.mul(t.rate, emit.unary<graph::SqrtOp>(rest(beta))), rest(alpha));
    Val rate = emit.select(
        emit.compare(ComparePredicate::gt, t.count, emit.scalar(dtype, 0)),
        corrected, t.rate);
    Val weight = emit.sub(t.weight, emit.mul(rate, emit.div(first, root)));
    return {times(op, weight, 1 - after), first, second};
  });
}

void importer::addTraining(Registry &registry) {
  registry.add("ai.onnx.preview.training.Momentum", importMomentum);
  registry.add("ai.onnx.preview.training.Adagrad", importAdagrad);
  registry.add("ai.onnx.preview.training.Adam", importAdam);
}
