//===- Refusal.cpp - the words of refusals --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/Refusal.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::analysis;

llvm::StringRef fusec::analysis::name(RefusalReason reason) {
  switch (reason) {
#define CASE(NAME)                                                             \
  case RefusalReason::NAME:                                                    \
    return #NAME
    CASE(WouldCreateCycle);
    CASE(CycleSearchTooLong);
    CASE(ReductionAxesDiffer);
    CASE(IndexMixesReducedAxes);
    CASE(ReadsAnotherRow);
    CASE(ColumnAccumulators);
    CASE(RecomputeTooCostly);
    CASE(RegisterPressure);
    CASE(OpaqueOp);
    CASE(RegionTooLarge);
    CASE(TooManyBuffers);
    CASE(NoProfit);
    CASE(HaloTooLarge);
    CASE(SharedMemoryTooSmall);
    CASE(SecondContraction);
    CASE(ReductionBesideContraction);
    CASE(WindowBesideReduction);
    CASE(OutputShapesDiffer);
    CASE(IndexTooComplex);
    CASE(NoSchedule);
    CASE(LaunchOfItsOwn);
    CASE(FillsTheMachine);
    CASE(HoldsMemory);
    CASE(OperandsNotConstant);
    CASE(NothingBeside);
#undef CASE
  }
  llvm_unreachable("covered switch");
}

static std::string shape(llvm::ArrayRef<int64_t> sizes) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(sizes)) {
    text += i ? ", " : "";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text + "]";
}

std::string Refusal::sentence() const {
  std::string who = op.name ? op.name->getStringRef().str() : "an op";
  auto count = static_cast<int64_t>(number);
  switch (reason) {
  case RefusalReason::WouldCreateCycle:
    return "another kernel lies on a path between the two, so one kernel would "
           "depend on itself";
  case RefusalReason::CycleSearchTooLong:
    return llvm::formatv("whether one kernel would depend on itself was not "
                         "settled within {0} steps",
                         count);
  case RefusalReason::ReductionAxesDiffer:
    return llvm::formatv("{0} reduces axes {1} of its operand where the "
                         "kernel's longest reduction reduces {2}",
                         who, shape(second), shape(first));
  case RefusalReason::IndexMixesReducedAxes:
    return llvm::formatv("the result of {0} is read at an index that depends "
                         "on the reduced axes",
                         who);
  case RefusalReason::ReadsAnotherRow:
    return llvm::formatv("the result of {0} is read in another row than the "
                         "one that makes it",
                         who);
  case RefusalReason::ColumnAccumulators:
    return llvm::formatv("{0} sums columns, and registers of one block do not "
                         "hold the sums and rows of {1} elements",
                         who, count);
  case RefusalReason::RecomputeTooCostly:
    return llvm::formatv("{0} would be computed {1} times over", who, count);
  case RefusalReason::RegisterPressure:
    return llvm::formatv("{0} values would be live at once in a thread", count);
  case RefusalReason::OpaqueOp:
    return llvm::formatv("{0} is a kernel of its own", who);
  case RefusalReason::RegionTooLarge:
    return llvm::formatv("the kernel would hold more than {0} ops", count);
  case RefusalReason::TooManyBuffers:
    return llvm::formatv("the kernel would take more than {0} buffers", count);
  case RefusalReason::NoProfit:
    return llvm::formatv("one kernel is estimated {0:f2} us slower than two",
                         number);
  case RefusalReason::HaloTooLarge:
    return llvm::formatv("tiles of {0} grow {1:f2} times by their halo", who,
                         number);
  case RefusalReason::SharedMemoryTooSmall:
    return llvm::formatv("staged tiles need {0} bytes of shared memory", count);
  case RefusalReason::SecondContraction:
    return llvm::formatv("{0} is a second contraction", who);
  case RefusalReason::ReductionBesideContraction:
    return llvm::formatv("{0} reduces beside a contraction", who);
  case RefusalReason::WindowBesideReduction:
    return llvm::formatv("{0} is a sliding window beside a reduction or "
                         "contraction",
                         who);
  case RefusalReason::OutputShapesDiffer:
    return llvm::formatv("a result of {0} has shape {1} where the kernel "
                         "iterates over {2}",
                         who, shape(second), shape(first));
  case RefusalReason::IndexTooComplex:
    return llvm::formatv("the index at which {0} is read has {1} terms", who,
                         count);
  case RefusalReason::NoSchedule:
    return "no generator builds the region, so its ops run one by one";
  case RefusalReason::LaunchOfItsOwn:
    return llvm::formatv("the kernel of {0} has a block size and shared memory "
                         "of its own",
                         who);
  case RefusalReason::FillsTheMachine:
    return llvm::formatv("the kernel works for {0:f2} us by itself, longer "
                         "than a launch takes",
                         number);
  case RefusalReason::HoldsMemory:
    return llvm::formatv("{0} bytes of other kernels' values would be kept "
                         "until all parts have run",
                         count);
  case RefusalReason::OperandsNotConstant:
    return llvm::formatv("operands that are not constants would be chosen "
                         "element by element in a main loop of {0:f2} us",
                         number);
  case RefusalReason::NothingBeside:
    return "no other small kernel is independent of this one";
  }
  llvm_unreachable("covered switch");
}

std::string Refusal::remedy() const {
  switch (reason) {
  case RefusalReason::WouldCreateCycle:
    return "make the op on the path fusible with either of the two";
  case RefusalReason::CycleSearchTooLong:
    return "raise the planner's search limit";
  case RefusalReason::ReductionAxesDiffer:
    return "reduce the same axes, or transpose so that they line up";
  case RefusalReason::IndexMixesReducedAxes:
    return "read the reduction's result by broadcasting along reduced axes";
  case RefusalReason::ReadsAnotherRow:
    return "move the slice, reverse or transpose before the reduction";
  case RefusalReason::ColumnAccumulators:
    return "none in this version: clusters do not share column sums";
  case RefusalReason::RecomputeTooCostly:
    return "store the value, or read it at fewer indices";
  case RefusalReason::RegisterPressure:
    return "order the ops so that values die sooner";
  case RefusalReason::OpaqueOp:
    return "express the op by element-wise ops and reductions";
  case RefusalReason::RegionTooLarge:
    return "raise max-ops, an option of fusec-fusion-form-groups";
  case RefusalReason::TooManyBuffers:
    return "raise max-buffers, an option of fusec-fusion-form-groups";
  case RefusalReason::NoProfit:
    return "none: separate kernels are faster";
  case RefusalReason::HaloTooLarge:
    return "shorten the chain of windows or shrink them";
  case RefusalReason::SharedMemoryTooSmall:
    return "use fewer channels or a narrower element type";
  case RefusalReason::SecondContraction:
    return "none in this version: one contraction a kernel, or two 16-bit "
           "products of one operand for one result";
  case RefusalReason::ReductionBesideContraction:
    return "reduce all columns or all rows of the product, and use the result "
           "for whole rows or columns only";
  case RefusalReason::WindowBesideReduction:
    return "none in this version: windows fuse with element-wise ops, and with "
           "reductions behind them over the channels of an image that has "
           "them last";
  case RefusalReason::OutputShapesDiffer:
    return "drop the second output, or give it the shape of the first";
  case RefusalReason::IndexTooComplex:
    return "merge the reshapes between the two";
  case RefusalReason::NoSchedule:
    return "none in this version: regions of this shape are not built";
  case RefusalReason::LaunchOfItsOwn:
    return "none in this version: contractions are launched by themselves";
  case RefusalReason::FillsTheMachine:
  case RefusalReason::NothingBeside:
    return "none: there is no launch to save";
  case RefusalReason::OperandsNotConstant:
    return "make the operands that differ constants, or join them in the graph";
  case RefusalReason::HoldsMemory:
    return "move the kernels' producers and readers closer together";
  }
  llvm_unreachable("covered switch");
}
