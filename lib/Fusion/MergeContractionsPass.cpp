//===- MergeContractionsPass.cpp - sibling contractions as a pass ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/MergeContractions.h"
#include "fusec/Fusion/Passes.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "fusec-fusion-merge-contractions"

namespace fusec::fusion {
#define GEN_PASS_DEF_MERGECONTRACTIONSPASS
#include "fusec/Fusion/Passes.h.inc"
} // namespace fusec::fusion

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

static void print(const SiblingDecision &decision) {
  InFlightDiagnostic remark = emitRemark(*decision.members.front().loc);
  std::string time = llvm::formatv("{0:f2} us", decision.microseconds).str();
  remark << decision.members.size() << " contractions of one operand ";
  if (decision.merged) {
    remark << "merged, saving " << time;
    return;
  }
  remark << "not merged";
  if (const std::optional<analysis::Refusal> &why = decision.refusal) {
    remark << " (" << analysis::name(why->reason) << "): " << why->sentence();
    remark.attachNote() << "to allow it: " << why->remedy();
  }
}

namespace {

struct MergeContractionsPass
    : fusion::impl::MergeContractionsPassBase<MergeContractionsPass> {
  using MergeContractionsPassBase::MergeContractionsPassBase;

  void runOnOperation() override {
    std::optional<TargetInfo> target = TargetInfo::get(arch);
    if (!target) {
      getOperation().emitError()
          << "expected arch sm_90a or sm_80, found '" << arch << "'";
      return signalPassFailure();
    }
    FormGroupsOptions options;
    options.target = *target;
    MergedContractions result = mergeContractions(getOperation(), options);
    for (const SiblingDecision &decision : result.decisions) {
      numMerged += decision.merged;
      if (printDecisions)
        print(decision);
    }
  }
};

} // namespace
