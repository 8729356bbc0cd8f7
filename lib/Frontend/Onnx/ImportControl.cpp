//===- ImportControl.cpp - control flow -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

/// An If whose condition is known: the branch that is taken, in line.
static void importIf(Operator &op) {
  const Attribute *branches[] = {op.attribute("else_branch"),
                                 op.attribute("then_branch")};
  Val condition = op.in(0);
  if (!condition ||
      !op.require(condition.dtype == DType::Bool && condition.elements() == 1,
                  "expected one bool as condition") ||
      !op.require(condition.constant != nullptr,
                  "the condition must be known at import"))
    return;
  const Attribute *taken = branches[condition.constant->getI64(0) != 0];
  if (!op.require(taken && taken->g, "the branch is missing"))
    return;
  llvm::SmallVector<Val> outputs = op.importBranch(*taken->g);
  if (!op.require(outputs.size() == op.outputCount(),
                  "the branch has " + llvm::Twine(outputs.size()) +
                      " outputs, expected " + llvm::Twine(op.outputCount())))
    return;
  for (size_t i = 0; i < outputs.size(); ++i)
    op.out(i, outputs[i]);
}

void importer::addControl(Registry &registry) { registry.add("If", importIf); }
