//===- Moves.cpp - changes that keep what a graph computes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Writer.h"
#include "fusec/Driver/Diagnostics.h"
#include "fusec/Reference/Attributes.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

namespace {
/// A case in change.
struct Mover {
  Case &subject;
  Rng &rng;
  func::FuncOp function = subject.model.function();
  Block &body = function.getBody().front();
  Move move = {};

  Operation *terminator() { return body.getTerminator(); }
  SmallVector<Operation *> made() {
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      if (op.getNumResults())
        ops.push_back(&op);
    return ops;
  }
  void setOutputs(ArrayRef<Value> values) { terminator()->setOperands(values); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Outputs and inputs
//===----------------------------------------------------------------------===//

static bool expose(Mover &m) {
  auto ops = m.made();
  if (ops.empty())
    return false;
  SmallVector<Value> outputs(m.terminator()->getOperands());
  outputs.push_back(m.rng.pick(ArrayRef(ops))->getResult(0));
  m.setOutputs(outputs);
  m.move.outputs.push_back(-1);
  return true;
}

static bool repeatOutput(Mover &m) {
  SmallVector<Value> outputs(m.terminator()->getOperands());
  int64_t which = m.rng.below(outputs.size());
  outputs.push_back(outputs[which]);
  m.setOutputs(outputs);
  m.move.outputs.push_back(m.move.outputs[which]);
  return true;
}

static bool permuteOutputs(Mover &m) {
  SmallVector<Value> before(m.terminator()->getOperands()), after;
  auto order = llvm::to_vector(llvm::seq<size_t>(0, before.size()));
  m.rng.shuffle(order);
  std::vector<int64_t> outputs;
  for (size_t i : order) {
    after.push_back(before[i]);
    outputs.push_back(m.move.outputs[i]);
  }
  m.setOutputs(after);
  m.move.outputs = outputs;
  return true;
}

static bool rotateInputs(Mover &m) {
  if (m.body.getNumArguments() < 2)
    return false;
  // A copy of the first at the end takes its uses.
  Value first = m.body.getArgument(0);
  Value last = m.body.addArgument(first.getType(), first.getLoc());
  first.replaceAllUsesWith(last);
  m.body.eraseArgument(0);
  std::rotate(m.subject.inputs.begin(), m.subject.inputs.begin() + 1,
              m.subject.inputs.end());
  return true;
}

static bool constantToInput(Mover &m) {
  SmallVector<graph::ConstantOp> constants(m.body.getOps<graph::ConstantOp>());
  if (constants.empty())
    return false;
  graph::ConstantOp op = m.rng.pick(ArrayRef(constants));
  llvm::Expected<HostTensor> value = reference::toHostTensor(op.getValue());
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  op.getResult().replaceAllUsesWith(
      m.body.addArgument(op.getType(), op.getLoc()));
  op.erase();
  m.subject.inputs.push_back(std::move(*value));
  return true;
}

static bool inputToConstant(Mover &m) {
  if (m.body.getNumArguments() == 0)
    return false;
  unsigned which = m.rng.below(m.body.getNumArguments());
  OpBuilder builder = OpBuilder::atBlockBegin(&m.body);
  Value argument = m.body.getArgument(which);
  Value constant = graph::ConstantOp::create(
      builder, argument.getLoc(),
      reference::toAttribute(m.subject.inputs[which], builder.getContext()));
  argument.replaceAllUsesWith(constant);
  m.body.eraseArgument(which);
  m.subject.inputs.erase(m.subject.inputs.begin() + which);
  return true;
}

//===----------------------------------------------------------------------===//
// Identities
//===----------------------------------------------------------------------===//

static Value multiplyByOne(OpBuilder &b, Value x, Rng &) {
  DType dtype = Writer::dtypeOf(x);
  if (dtype == DType::Bool)
    return {};
  HostTensor one = llvm::cantFail(HostTensor::create(dtype, {}));
  if (isFloat(dtype))
    one.setF64(0, 1);
  else
    one.setI64(0, 1);
  Location loc = x.getLoc();
  Value scalar = graph::ConstantOp::create(
      b, loc, reference::toAttribute(one, b.getContext()));
  Value ones = graph::BroadcastOp::create(b, loc, x.getType(), scalar,
                                          ArrayRef<int64_t>());
  return graph::MulOp::create(b, loc, x, ones);
}

/// x + (-0) for floats; for integers x + 0.
static Value addZero(OpBuilder &b, Value x, Rng &) {
  DType dtype = Writer::dtypeOf(x);
  if (dtype == DType::Bool)
    return {};
  HostTensor zero = llvm::cantFail(HostTensor::create(dtype, {}));
  if (isFloat(dtype))
    zero.setF64(0, -0.0);
  Location loc = x.getLoc();
  Value scalar = graph::ConstantOp::create(
      b, loc, reference::toAttribute(zero, b.getContext()));
  Value zeros = graph::BroadcastOp::create(b, loc, x.getType(), scalar,
                                           ArrayRef<int64_t>());
  return graph::AddOp::create(b, loc, x, zeros);
}

static Value transposeTwice(OpBuilder &b, Value x, Rng &rng) {
  auto type = Writer::typeOf(x);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  rng.shuffle(order);
  SmallVector<int64_t> back(order.size()), shape;
  for (auto [i, dim] : llvm::enumerate(order)) {
    back[dim] = i;
    shape.push_back(type.getDimSize(dim));
  }
  Value there = graph::TransposeOp::create(b, x.getLoc(), type.clone(shape), x,
                                           ArrayRef<int64_t>(order));
  return graph::TransposeOp::create(b, x.getLoc(), type, there,
                                    ArrayRef<int64_t>(back));
}

static Value reshapeTwice(OpBuilder &b, Value x, Rng &rng) {
  auto type = Writer::typeOf(x);
  SmallVector<int64_t> flat = {type.getNumElements()};
  if (rng.chance(1, 2))
    flat.insert(flat.begin(), 1);
  Value there = graph::ReshapeOp::create(b, x.getLoc(), type.clone(flat), x);
  return graph::ReshapeOp::create(b, x.getLoc(), type, there);
}

static Value splitAndConcat(OpBuilder &b, Value x, Rng &rng) {
  auto type = Writer::typeOf(x);
  if (type.getRank() == 0)
    return {};
  int64_t axis = rng.below(type.getRank()), size = type.getDimSize(axis);
  int64_t first = rng.between(0, size);
  SmallVector<Value> parts;
  for (auto [offset, count] :
       {std::pair(int64_t(0), first), std::pair(first, size - first)}) {
    SmallVector<int64_t> shape(type.getShape()), offsets(shape.size(), 0),
        strides(shape.size(), 1);
    shape[axis] = count;
    offsets[axis] = count ? offset : 0;
    parts.push_back(graph::SliceOp::create(b, x.getLoc(), type.clone(shape), x,
                                           ArrayRef<int64_t>(offsets),
                                           ArrayRef<int64_t>(strides)));
  }
  return graph::ConcatOp::create(b, x.getLoc(), type, parts, axis);
}

static Value negateTwice(OpBuilder &b, Value x, Rng &) {
  if (Writer::dtypeOf(x) == DType::Bool)
    return {};
  Value there = graph::NegOp::create(b, x.getLoc(), x);
  return graph::NegOp::create(b, x.getLoc(), there);
}

static Value chooseItself(OpBuilder &b, Value x, Rng &) {
  Type flags = Writer::typeOf(x).clone(b.getI1Type());
  auto flag = graph::CompareOp::create(b, x.getLoc(), flags,
                                       graph::ComparePredicate::ne, x, x);
  return graph::SelectOp::create(b, x.getLoc(), x.getType(), flag, x, x);
}

/// Puts something that does nothing behind a value, for some of its readers.
static bool insertIdentity(Mover &m) {
  static constexpr Value (*kIdentities[])(OpBuilder &, Value, Rng &) = {
      multiplyByOne,  addZero,     transposeTwice, reshapeTwice,
      splitAndConcat, negateTwice, chooseItself};
  SmallVector<Value> values(m.body.getArguments());
  for (Operation *op : m.made())
    values.push_back(op->getResult(0));
  if (values.empty())
    return false;
  Value x = m.rng.pick(ArrayRef(values));
  OpBuilder builder(x.getContext());
  builder.setInsertionPointAfterValue(x);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : x.getUses())
    uses.push_back(&use);
  Value same = m.rng.pick(kIdentities)(builder, x, m.rng);
  if (!same)
    return false;
  // Uses are in an order that memory does not change.
  bool all = m.rng.chance(1, 2);
  for (auto [i, use] : llvm::enumerate(uses))
    if (all || i == 0)
      use->set(same);
  return true;
}

/// Puts other ops in place of one.
static bool rewrite(Mover &m) {
  auto ops = m.made();
  m.rng.shuffle(ops);
  for (Operation *op : ops) {
    OpBuilder builder(op);
    if (Value same = rewritten(builder, op, m.rng)) {
      op->getResult(0).replaceAllUsesWith(same);
      op->erase();
      return true;
    }
  }
  return false;
}

llvm::Expected<Move> fuzz::applyMoves(Case &subject, Rng &rng) {
  struct Named {
    bool (*run)(Mover &);
    llvm::StringRef what;
  };
  static constexpr Named kMoves[] = {{expose, "expose"},
                                     {repeatOutput, "repeat-output"},
                                     {permuteOutputs, "permute-outputs"},
                                     {rotateInputs, "rotate-inputs"},
                                     {constantToInput, "constant-to-input"},
                                     {inputToConstant, "input-to-constant"},
                                     {insertIdentity, "identity"},
                                     {insertIdentity, "identity"},
                                     {insertIdentity, "identity"},
                                     {rewrite, "rewrite"},
                                     {rewrite, "rewrite"}};
  Mover mover{subject, rng};
  driver::DiagnosticCollector diagnostics(subject.model.context.get());
  for (size_t i = 0; i < subject.model.outputs.size(); ++i)
    mover.move.outputs.push_back(i);
  for (int64_t i = 0, n = rng.between(1, 3); i < n; ++i) {
    const Named &named = rng.pick(kMoves);
    if (named.run(mover))
      mover.move.what +=
          (mover.move.what.empty() ? "" : ", ") + named.what.str();
  }
  mover.function.setType(FunctionType::get(
      subject.model.context.get(), mover.body.getArgumentTypes(),
      llvm::to_vector(mover.terminator()->getOperandTypes())));
  if (failed(mlir::verify(*subject.model.module)))
    return diagnostics.take("a move made an invalid graph");
  subject.model.inputs.clear();
  subject.model.outputs.clear();
  if (llvm::Error error = session::describeFunction(subject.model))
    return error;
  return mover.move;
}
