//===- FormGroupsPass.cpp - the planner as a pass -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "fusec-fusion-form-groups"

namespace fusec::fusion {
#define GEN_PASS_DEF_FORMGROUPSPASS
#include "fusec/Fusion/Passes.h.inc"
} // namespace fusec::fusion

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

static void printDecisions(const FusionDecisions &decisions) {
  for (const KernelDecision &kernel : decisions.kernels)
    emitRemark(kernel.loc) << llvm::formatv(
        "{0} kernel of {1} ops, {2} inputs, {3} outputs",
        analysis::name(kernel.kind), kernel.numOps, kernel.numInputs,
        kernel.numOutputs);
  for (const KernelDecision &kernel : decisions.kernels) {
    for (const PartDecision &part : kernel.parts)
      emitRemark(part.loc) << llvm::formatv("part of a launch: {0} of {1} ops",
                                            analysis::name(part.kind),
                                            part.numOps)
                                  .str();
    if (kernel.alone)
      emitRemark(kernel.loc)
          << "alone in its launch (" << analysis::name(kernel.alone->reason)
          << "): " << kernel.alone->sentence();
  }
  for (const EdgeDecision &edge : decisions.edges) {
    if (edge.fused || !edge.refusal || !edge.consumer.loc)
      continue;
    const analysis::Refusal &why = *edge.refusal;
    InFlightDiagnostic remark = emitRemark(*edge.consumer.loc);
    remark << "not fused with " << edge.producer.name->getStringRef() << " ("
           << analysis::name(why.reason) << ", "
           << llvm::formatv("{0:f2}", edge.microseconds).str()
           << " us): " << why.sentence();
    remark.attachNote() << "to allow it: " << why.remedy();
  }
}

/// Hands refusals to the context's remark engine, if there is one.
static void emitRemarks(MLIRContext *context,
                        const FusionDecisions &decisions) {
  if (!context->getRemarkEngine())
    return;
  for (const EdgeDecision &edge : decisions.edges) {
    if (edge.fused || !edge.refusal || !edge.consumer.loc)
      continue;
    remark::missed(*edge.consumer.loc, remark::RemarkOpts::name(
                                           analysis::name(edge.refusal->reason))
                                           .category("fusec-fusion"))
        << remark::add("{0}", edge.refusal->sentence())
        << remark::reason("{0:f2} us", edge.microseconds)
        << remark::suggest("{0}", edge.refusal->remedy());
  }
}

namespace {

struct FormGroupsPass : fusion::impl::FormGroupsPassBase<FormGroupsPass> {
  using FormGroupsPassBase::FormGroupsPassBase;

  std::optional<FormGroupsOptions> typedOptions;
  DecisionSink sink;

  /// Options from the command line; failure for an unknown machine.
  FailureOr<FormGroupsOptions> readOptions() {
    if (typedOptions)
      return *typedOptions;
    FormGroupsOptions result;
    std::optional<TargetInfo> target = TargetInfo::get(arch);
    if (!target)
      return getOperation().emitError()
             << "expected arch sm_90a or sm_80, found '" << arch << "'";
    result.target = *target;
    result.maxOps = maxOps;
    result.maxBuffers = maxBuffers;
    result.maxLiveValues = maxLiveValues;
    result.horizontal = horizontal;
    result.productStatistics = productStatistics
                                   ? ProductStatistics::WherePaying
                                   : ProductStatistics::Never;
    return result;
  }

  void runOnOperation() override {
    FailureOr<FormGroupsOptions> options = readOptions();
    if (failed(options))
      return signalPassFailure();
    FusionDecisions decisions = formGroups(getOperation(), *options);
    numKernels += decisions.kernels.size();
    numClonedOps += decisions.clonedOps;
    for (const EdgeDecision &edge : decisions.edges)
      numFusedEdges += edge.fused;
    if (printDecisions)
      ::printDecisions(decisions);
    emitRemarks(&getContext(), decisions);
    if (sink)
      sink(getOperation(), decisions);
    if (verifyGroups && failed(fusion::verifyGroups(getOperation())))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass>
fusion::createFormGroupsPass(const FormGroupsOptions &options,
                             DecisionSink sink) {
  auto pass = std::make_unique<FormGroupsPass>();
  pass->typedOptions = options;
  pass->sink = std::move(sink);
  return pass;
}
