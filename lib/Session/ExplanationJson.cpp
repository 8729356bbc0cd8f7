//===- ExplanationJson.cpp - a plan as JSON -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place that knows the schema: the tool and the library write a plan
// through it.
//===----------------------------------------------------------------------===//
#include "fusec/Session/Explanation.h"

using namespace fusec;
using namespace fusec::session;
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

static Object opJson(const OpEntry &op) {
  return Object{{"op", jsonText(op.op)}, {"place", jsonText(op.place)}};
}

static llvm::json::Value optionalJson(std::optional<uint32_t> value) {
  return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
}

static Object codeJson(const KernelCode &code) {
  Object object{{"threads", code.threads},
                {"grid", Array{code.grid[0], code.grid[1], code.grid[2]}},
                {"dynamic_shared_bytes", code.dynamicSharedBytes},
                {"resources", nullptr},
                {"occupancy", nullptr}};
  if (const auto &need = code.resources)
    object["resources"] =
        Object{{"registers", optionalJson(need->registers)},
               {"static_shared_bytes", optionalJson(need->staticSharedBytes)},
               {"local_bytes", optionalJson(need->localBytes)},
               {"spill_store_bytes", optionalJson(need->spillStoreBytes)},
               {"spill_load_bytes", optionalJson(need->spillLoadBytes)}};
  if (const auto &occupancy = code.occupancy)
    object["occupancy"] =
        Object{{"blocks_per_multiprocessor", occupancy->blocks},
               {"fraction", occupancy->fraction},
               {"limit", occupancy->limit}};
  if (code.compileMicroseconds)
    object["compile_us"] = *code.compileMicroseconds;
  return object;
}

static Object kernelJson(const KernelEntry &kernel) {
  Array ops;
  for (const OpEntry &op : kernel.ops)
    ops.push_back(opJson(op));
  Object object{{"entry", kernel.entry},
                {"kind", kernel.kind},
                {"op_count", int64_t(kernel.numOps)},
                {"ops", std::move(ops)},
                {"inputs", kernel.inputs},
                {"outputs", kernel.outputs},
                {"minimum_bytes", kernel.minimumBytes},
                {"moved_bytes", kernel.movedBytes},
                {"flops", kernel.flops},
                {"floor_us", kernel.floorMicroseconds},
                {"predicted_us", kernel.predictedMicroseconds},
                {"code", nullptr}};
  if (!kernel.schedule.empty())
    object["schedule"] = kernel.schedule;
  if (!kernel.choice.empty()) {
    Object choice{{"name", kernel.choice},
                  {"candidates", int64_t(kernel.numCandidates)},
                  {"why", jsonText(kernel.choiceWhy)}};
    if (!kernel.vendor.empty())
      choice["vendor"] = jsonText(kernel.vendor);
    object["choice"] = std::move(choice);
  }
  if (!kernel.split.empty())
    object["split"] = jsonText(kernel.split);
  if (!kernel.parts.empty())
    object["parts"] = kernel.numParts;
  if (!kernel.aloneWhy.empty()) {
    object["alone_reason"] = kernel.aloneReason;
    object["alone_why"] = jsonText(kernel.aloneWhy);
  }
  if (kernel.code)
    object["code"] = codeJson(*kernel.code);
  return object;
}

static Object edgeJson(const EdgeEntry &edge) {
  auto kernel = [](std::optional<unsigned> index) {
    return index ? llvm::json::Value(*index) : llvm::json::Value(nullptr);
  };
  Object object{{"producer", opJson(edge.producer)},
                {"consumer", opJson(edge.consumer)},
                {"producer_kernel", kernel(edge.producerKernel)},
                {"consumer_kernel", kernel(edge.consumerKernel)},
                {"fused", edge.fused},
                {"cost_us", edge.microseconds}};
  if (!edge.fused) {
    object["reason"] = edge.reason;
    object["why"] = jsonText(edge.why);
    object["remedy"] = jsonText(edge.remedy);
  }
  return object;
}

static Object siblingsJson(const SiblingEntry &siblings) {
  Array members;
  for (const OpEntry &member : siblings.members)
    members.push_back(opJson(member));
  Object object{{"members", std::move(members)},
                {"merged", siblings.merged},
                {"saving_us", siblings.microseconds}};
  if (!siblings.merged) {
    object["reason"] = siblings.reason;
    object["why"] = jsonText(siblings.why);
    object["remedy"] = jsonText(siblings.remedy);
  }
  return object;
}

Object session::toJson(const Explanation &e) {
  Array kernels, edges, siblings;
  for (const KernelEntry &kernel : e.kernels)
    kernels.push_back(kernelJson(kernel));
  for (const EdgeEntry &edge : e.edges)
    edges.push_back(edgeJson(edge));
  for (const SiblingEntry &set : e.siblings)
    siblings.push_back(siblingsJson(set));
  Object object{{"target", e.target},
                {"bandwidth", Object{{"bytes_per_second", e.bandwidth},
                                     {"measured", e.bandwidthMeasured},
                                     {"source", jsonText(e.bandwidthSource)}}},
                {"kernels", std::move(kernels)},
                {"edges", std::move(edges)},
                {"siblings", std::move(siblings)},
                {"floor_us", e.floorMicroseconds()},
                {"predicted_us", e.predictedMicroseconds()}};
  if (e.failure.empty())
    object["fusion"] = toJson(e.summary);
  else
    object["failure"] = jsonText(e.failure);
  if (!e.noResources.empty())
    object["no_resources"] = jsonText(e.noResources);
  return object;
}
