//===- AskChooser.cpp - questions of schedules, completed -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AskChooser.h"
#include "GraphDigest.h"
#include "ProgramBuilder.h"
#include "VendorProduct.h"
#include "fusec/Analysis/ExactSums.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

ScheduleAnswer AskChooser::choose(const ScheduleQuestion &asked) const {
  ScheduleDecision made{asked, {}, {}, {}, {}, {}};
  ScheduleQuestion &question = made.question;
  Operation *first = form.ops.front();
  question.problem = regionDigest(first->getParentOfType<graph::FusionOp>());
  if (options.numerics == NumericsMode::Exact)
    question.problem += "-exact";
  analysis::FactTable facts;
  if (Operation *hero = form.hero())
    question.isExactOnSimpleData = analysis::isExactOnSimpleData(facts, hero);
  made.answer = chooser.choose(question);
  if (made.answer.candidate >= question.candidates.size())
    made.answer = {};
  decision = std::move(made);
  return decision->answer;
}

std::optional<ScheduleDecision> AskChooser::take(graph::FusionOp fusion) {
  if (!decision)
    return std::nullopt;
  auto describe = [](TypeRange types, std::vector<runtime::TensorSpec> &specs) {
    for (Type type : types) {
      llvm::Expected<runtime::TensorSpec> spec = tensorSpec(type, "");
      if (!spec) {
        llvm::consumeError(spec.takeError());
        return false;
      }
      specs.push_back(std::move(*spec));
    }
    return true;
  };
  if (!describe(fusion->getOperandTypes(), decision->inputs) ||
      !describe(fusion->getResultTypes(), decision->outputs))
    return std::nullopt;
  if (vendor && options.numerics == NumericsMode::Default && !options.pattern) {
    decision->product = vendorProduct(fusion, form);
    if (decision->product)
      decision->vendor = vendor->algorithmFor(decision->question.problem);
  }
  return std::exchange(decision, std::nullopt);
}
