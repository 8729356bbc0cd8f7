//===- ImportLoss.cpp - classification losses -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;
using graph::ReduceKind;

/// Minus the weighted log-probability of each target class, reduced as the
/// node says. `logs` is [N, C, d...], `target` [N, d...], `weight` [C] or null.
static Val negativeLikelihood(Operator &op, const Val &logs, Val target,
                              const Val &weight) {
  Emitter &emit = op.emit;
  std::string reduction = op.stringAttr("reduction", "mean");
  bool ignores = op.attribute("ignore_index") != nullptr;
  int64_t ignored = op.intAttr("ignore_index", 0);
  if (!logs || !target ||
      !op.require(isFloat(logs.dtype) && logs.rank() >= 2 &&
                      target.rank() == logs.rank() - 1 &&
                      !isFloat(target.dtype) && target.dtype != DType::Bool,
                  "logits " + describe(logs.shape) + " and targets " +
                      describe(target.shape) + " do not fit") ||
      !op.require(reduction == "mean" || reduction == "sum" ||
                      reduction == "none",
                  "unknown reduction " + quoted(reduction)))
    return {};
  int64_t classes = logs.shape[1];
  target = emit.cast(target, DType::I64);
  Val counts;
  if (ignores) {
    Val hole = emit.scalarInt(DType::I64, ignored);
    counts = emit.compare(ComparePredicate::ne, target, hole);
    // The hole need not be a class.
    target = emit.select(counts, target, emit.scalarInt(DType::I64, 0));
  }
  if (!target)
    return {};
  Dims column = target.shape;
  column.insert(column.begin() + 1, 1);
  Val chosen = emit.reshape(
      gatherElements(op, logs, emit.reshape(target, column), 1), target.shape);
  Val factor = emit.splat(logs.dtype, 1, target.shape);
  if (weight) {
    if (!op.require(weight.rank() == 1 && weight.shape[0] == classes &&
                        weight.dtype == logs.dtype,
                    "expected one weight per class"))
      return {};
    factor = emit.gather(weight, target, 0);
  }
  Val zero = emit.scalar(logs.dtype, 0);
  if (counts)
    factor = emit.select(counts, factor, zero);
  Val loss = emit.mul(emit.unary<graph::NegOp>(chosen), factor);
  if (counts) // an ignored infinity counts for nothing
    loss = emit.select(counts, loss, zero);
  if (!loss || reduction == "none")
    return loss;
  Dims all = countUp(loss.rank());
  Val sum = emit.reduce(ReduceKind::sum, emit.widen(loss), all);
  if (reduction == "mean")
    sum = emit.div(sum, emit.reduce(ReduceKind::sum, emit.widen(factor), all));
  return emit.cast(sum, logs.dtype);
}

static void importNegativeLogLikelihoodLoss(Operator &op) {
  op.out(negativeLikelihood(op, op.in(0), op.in(1),
                            op.hasInput(2) ? op.in(2) : Val()));
}

static void importSoftmaxCrossEntropyLoss(Operator &op) {
  Emitter &emit = op.emit;
  Val scores = op.in(0);
  if (!scores || !op.require(isFloat(scores.dtype) && scores.rank() >= 2,
                             "expected a float tensor of rank 2 or more"))
    return;
  Val logs =
      emit.make(scores.dtype, scores.shape, [&](mlir::RankedTensorType type) {
        return graph::LogSoftmaxOp::create(emit.builder, emit.location(), type,
                                           emit.use(scores), Dims{1})
            .getResult();
      });
  op.out(0, negativeLikelihood(op, logs, op.in(1),
                               op.hasInput(2) ? op.in(2) : Val()));
  op.out(1, logs);
}

void importer::addLoss(Registry &registry) {
  registry.add("NegativeLogLikelihoodLoss", importNegativeLogLikelihoodLoss);
  registry.add("SoftmaxCrossEntropyLoss", importSoftmaxCrossEntropyLoss);
}
