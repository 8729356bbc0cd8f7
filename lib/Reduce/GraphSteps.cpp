//===- GraphSteps.cpp - fewer ops -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include "fusec/Reference/Evaluate.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reduce;

/// Steps of one evaluation, so that no step takes long.
static constexpr int64_t kMaxSteps = int64_t(1) << 30;

/// One output alone, else all but one.
bool reduce::dropOutputs(const Case &current, Try attempt) {
  bool changed = false;
  auto count = [&] {
    return bodyOf(current).getTerminator()->getNumOperands();
  };
  for (unsigned i = 0; count() > 1 && i < count(); ++i)
    if (attempt("one output", [&](Case &subject) {
          Operation *end = bodyOf(subject).getTerminator();
          end->setOperands(ValueRange(end->getOperand(i)));
          return true;
        }))
      return true;
  for (unsigned i = count(); i-- > 0 && count() > 1;)
    changed |= attempt("an output less", [&](Case &subject) {
      bodyOf(subject).getTerminator()->eraseOperand(i);
      return true;
    });
  return changed;
}

/// What `values` of the case hold; nothing if it cannot be evaluated.
static std::optional<std::vector<HostTensor>> valuesOf(const Case &subject,
                                                       ArrayRef<Value> values) {
  Operation *end = bodyOf(subject).getTerminator();
  SmallVector<Value> outputs(end->getOperands());
  end->setOperands(values);
  func::FuncOp function =
      const_cast<session::Model &>(subject.model).function();
  reference::EvaluateOptions options;
  options.maxSteps = kMaxSteps;
  auto results = reference::evaluate(function, subject.inputs, options);
  end->setOperands(outputs);
  if (results)
    return std::move(*results);
  llvm::consumeError(results.takeError());
  return std::nullopt;
}

/// Makes inputs of the results of ops [first, last) that others read.
static bool cut(Case &subject, size_t first, size_t last) {
  auto all = opsOf(subject);
  SmallVector<Operation *> part(all.begin() + first, all.begin() + last);
  SmallVector<Value> border;
  for (Operation *op : part)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            Operation *outer = bodyOf(subject).findAncestorOpInBlock(*user);
            return !llvm::is_contained(part, outer);
          }))
        border.push_back(result);
  // An op that is only an input afterwards was none to remove.
  if (border.empty() || llvm::all_of(part, [](Operation *op) {
        return isa<graph::ConstantOp>(op);
      }))
    return false;
  auto values = valuesOf(subject, border);
  if (!values)
    return false;
  for (auto [value, tensor] : llvm::zip(border, *values)) {
    value.replaceAllUsesWith(
        bodyOf(subject).addArgument(value.getType(), value.getLoc()));
    subject.inputs.push_back(std::move(tensor));
  }
  return true;
}

/// Halves, quarters, ... of the ops, down to single ones.
bool reduce::cutOps(const Case &current, Try attempt) {
  bool changed = false;
  for (size_t size = std::max<size_t>(opsOf(current).size() / 2, 1); size > 0;
       size /= 2)
    for (size_t first = 0; first < opsOf(current).size();) {
      size_t last = std::min(first + size, opsOf(current).size());
      bool kept = attempt("ops as inputs", [&](Case &subject) {
        return cut(subject, first, last);
      });
      changed |= kept;
      if (!kept)
        first = last;
    }
  return changed;
}

/// An op replaced by an operand of its type.
bool reduce::bypassOps(const Case &current, Try attempt) {
  bool changed = false;
  for (size_t i = opsOf(current).size(); i-- > 0;) {
    Operation *op = opsOf(current)[i];
    for (unsigned k = 0; k < op->getNumOperands(); ++k)
      if (op->getNumResults() == 1 &&
          op->getOperand(k).getType() == op->getResult(0).getType() &&
          attempt("an op bypassed", [&](Case &subject) {
            Operation *copy = opsOf(subject)[i];
            copy->getResult(0).replaceAllUsesWith(copy->getOperand(k));
            return true;
          })) {
        changed = true;
        break;
      }
    i = std::min(i, opsOf(current).size());
  }
  return changed;
}

/// Constants as inputs: their values are then simpler to change.
bool reduce::freeConstants(const Case &current, Try attempt) {
  bool changed = false;
  for (size_t i = opsOf(current).size(); i-- > 0;) {
    if (!isa<graph::ConstantOp>(opsOf(current)[i]))
      continue;
    changed |= attempt("a constant as input", [&](Case &subject) {
      auto op = cast<graph::ConstantOp>(opsOf(subject)[i]);
      llvm::Expected<HostTensor> value = reference::toHostTensor(op.getValue());
      if (!value) {
        llvm::consumeError(value.takeError());
        return false;
      }
      op.getResult().replaceAllUsesWith(
          bodyOf(subject).addArgument(op.getType(), op.getLoc()));
      subject.inputs.push_back(std::move(*value));
      return true;
    });
    i = std::min(i, opsOf(current).size());
  }
  return changed;
}
