//===- Plan.cpp - decisions as JSON ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Session/Build.h"

using namespace fusec;
using namespace fusec::session;
using fusion::EdgeDecision;
using llvm::json::Array;
using llvm::json::Object;

llvm::json::Value session::jsonText(llvm::StringRef text) {
  return llvm::json::fixUTF8(text);
}

Object session::toJson(const FusionSummary &summary) {
  return Object{{"ops", summary.opsBefore},
                {"kernels", summary.kernels},
                {"launches", summary.launches},
                {"bytes_before", summary.bytesBefore},
                {"bytes_after", summary.bytesAfter},
                {"workspace_bytes", summary.workspaceBytes}};
}

static std::string opName(const analysis::OpRef &op) {
  return op.name ? op.name->getStringRef().str() : "op";
}

/// The source name of an op: for ONNX the node's.
static std::string place(const analysis::OpRef &op) {
  std::string text;
  if (op.loc)
    llvm::raw_string_ostream(text) << *op.loc;
  return text;
}

static Object kernelJson(const fusion::KernelDecision &kernel,
                         const driver::KernelSummary *summary) {
  Object object{{"kind", analysis::name(kernel.kind)},
                {"num_ops", kernel.numOps},
                {"inputs", kernel.numInputs},
                {"outputs", kernel.numOutputs},
                {"read_bytes", kernel.cost.readBytes},
                {"written_bytes", kernel.cost.writtenBytes},
                {"microseconds", kernel.cost.total()}};
  if (!kernel.parts.empty())
    object["parts"] = kernel.parts.size();
  if (kernel.alone) {
    object["alone_reason"] = analysis::name(kernel.alone->reason);
    object["alone_why"] = jsonText(kernel.alone->sentence());
  }
  if (summary) {
    Array ops;
    for (const std::string &op : summary->ops)
      ops.push_back(jsonText(op));
    object["ops"] = std::move(ops);
    object["kernel"] = summary->kernel;
  }
  if (kernel.split)
    object["split"] = jsonText(kernel.split->sentence());
  return object;
}

static Object edgeJson(const EdgeDecision &edge) {
  Object object{{"producer", jsonText(opName(edge.producer))},
                {"consumer", jsonText(opName(edge.consumer))},
                {"location", jsonText(place(edge.consumer))},
                {"fused", edge.fused},
                {"microseconds", edge.microseconds}};
  if (edge.producerKernel)
    object["producer_kernel"] = *edge.producerKernel;
  if (edge.consumerKernel)
    object["consumer_kernel"] = *edge.consumerKernel;
  if (edge.refusal) {
    object["reason"] = analysis::name(edge.refusal->reason);
    object["why"] = jsonText(edge.refusal->sentence());
    object["remedy"] = jsonText(edge.refusal->remedy());
  }
  return object;
}

Object session::toJson(const fusion::FusionDecisions &decisions,
                       llvm::ArrayRef<driver::KernelSummary> summaries) {
  Array kernels, edges;
  for (auto [i, kernel] : llvm::enumerate(decisions.kernels))
    kernels.push_back(
        kernelJson(kernel, i < summaries.size() ? &summaries[i] : nullptr));
  for (const EdgeDecision &edge : decisions.edges)
    edges.push_back(edgeJson(edge));
  return Object{{"kernels", std::move(kernels)}, {"edges", std::move(edges)}};
}
