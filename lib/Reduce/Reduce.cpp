//===- Reduce.cpp - the smallest graph that still fails -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy: every step is tried on a copy, and a copy that still fails takes the
// place of the case. Steps that remove most come first; they are repeated until
// none helps.
//===----------------------------------------------------------------------===//
#include "fusec/Reduce/Reduce.h"
#include "Steps.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Driver/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <chrono>

using namespace mlir;
using namespace fusec;
using namespace fusec::reduce;

Block &reduce::bodyOf(const Case &subject) {
  return const_cast<session::Model &>(subject.model)
      .function()
      .getBody()
      .front();
}

SmallVector<Operation *> reduce::opsOf(const Case &subject) {
  SmallVector<Operation *> ops;
  for (Operation &op : bodyOf(subject).without_terminator())
    ops.push_back(&op);
  return ops;
}

bool reduce::tidy(Case &subject) {
  Block &body = bodyOf(subject);
  func::FuncOp function = subject.model.function();
  fuzz::removeUnused(function, subject.inputs);
  // Attributes of arguments and results speak of those that were.
  function.setArgAttrsAttr(ArrayAttr());
  function.setResAttrsAttr(ArrayAttr());
  function.setType(FunctionType::get(
      function.getContext(), body.getArgumentTypes(),
      llvm::to_vector(body.getTerminator()->getOperandTypes())));
  driver::DiagnosticCollector quiet(function.getContext());
  if (failed(mlir::verify(*subject.model.module)))
    return false;
  subject.model.inputs.clear();
  subject.model.outputs.clear();
  if (llvm::Error error = session::describeFunction(subject.model)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  return true;
}

static int64_t elementsOf(const Case &subject) {
  int64_t count = 0;
  for (const HostTensor &input : subject.inputs)
    count += input.elements();
  return count;
}

namespace {
/// The case at hand and what was tried.
class Reducer {
public:
  Reducer(Case start, Check check, const Options &options, Report &report)
      : current(std::move(start)), check(check), options(options),
        report(report) {}

  /// Runs all steps until none helps.
  Case run();

private:
  bool attempt(llvm::StringRef what, Change change);
  bool isOver() {
    std::chrono::duration<double> used =
        std::chrono::steady_clock::now() - begin;
    return report.timeOver =
               options.seconds > 0 && used.count() > options.seconds;
  }

  Case current;
  Check check;
  const Options &options;
  Report &report;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};
} // namespace

/// The parts of a model live in its context, which must go last.
static void replace(Case &target, Case source) {
  target.model.module = {};
  target.model = std::move(source.model);
  target.inputs = std::move(source.inputs);
}

bool Reducer::attempt(llvm::StringRef what, Change change) {
  if (isOver())
    return false;
  llvm::Expected<Case> copy = fuzz::clone(current);
  if (!copy) {
    llvm::consumeError(copy.takeError());
    return false;
  }
  if (!change(*copy) || !tidy(*copy))
    return false;
  ++report.tried;
  if (!check(*copy))
    return false;
  ++report.kept;
  replace(current, std::move(*copy));
  if (options.progress)
    options.progress(what, opsOf(current).size(), elementsOf(current));
  return true;
}

Case Reducer::run() {
  auto attemptOne = [&](llvm::StringRef what, Change change) {
    return attempt(what, change);
  };
  static constexpr bool (*kSteps[])(const Case &, Try) = {
      dropOutputs, cutOps,     bypassOps,  freeConstants,
      shrinkSizes, plainTypes, plainValues};
  for (bool changed = true; changed && !isOver();) {
    changed = false;
    for (auto *step : kSteps)
      changed |= step(current, attemptOne);
  }
  return std::move(current);
}

llvm::Expected<Case> reduce::reduce(const Case &original, Check check,
                                    const Options &options, Report &report) {
  llvm::Expected<Case> start = fuzz::clone(original);
  if (!start)
    return start.takeError();
  report.tried = 1;
  if (!check(*start))
    return session::sessionError(session::ErrorClass::InvalidArgument,
                                 "the graph does not fail the check");
  report.opsBefore = opsOf(*start).size();
  report.elementsBefore = elementsOf(*start);
  Case smallest = Reducer(std::move(*start), check, options, report).run();
  report.opsAfter = opsOf(smallest).size();
  report.elementsAfter = elementsOf(smallest);
  return smallest;
}
