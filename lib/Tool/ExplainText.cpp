//===- ExplainText.cpp - a plan as text, JSON and DOT ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Explanation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace fusec;
using namespace fusec::tool;
using llvm::json::Array;
using llvm::json::Object;

static std::string numberOr(std::optional<uint32_t> value) {
  return value ? std::to_string(*value) : "-";
}

/// Bytes per thread that the register allocator stores and loads.
static std::optional<uint32_t> spills(const runtime::KernelResources &need) {
  if (!need.spillStoreBytes || !need.spillLoadBytes)
    return std::nullopt;
  return *need.spillStoreBytes + *need.spillLoadBytes;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printKernel(llvm::raw_ostream &os, size_t index,
                        const KernelEntry &kernel) {
  os << llvm::format("  %3zu  %-11s %4zu %10s %10s %9.3f %9.3f", index,
                     kernel.kind.c_str(), kernel.numOps,
                     bytesText(kernel.minimumBytes).c_str(),
                     bytesText(kernel.movedBytes).c_str(),
                     kernel.floorMicroseconds, kernel.predictedMicroseconds);
  const KernelCode *code = kernel.code ? &*kernel.code : nullptr;
  if (code && code->resources) {
    const runtime::KernelResources &need = *code->resources;
    uint64_t shared =
        code->dynamicSharedBytes + need.staticSharedBytes.value_or(0);
    os << llvm::format(" %4s %9s %6s", numberOr(need.registers).c_str(),
                       bytesText(double(shared)).c_str(),
                       numberOr(spills(need)).c_str());
    if (code->occupancy)
      os << llvm::format(" %4.0f %%", code->occupancy->fraction * 100);
    else
      os << "      -";
  } else {
    os << "    -         -      -      -";
  }
  os << "  " << opList(kernel.ops) << '\n';
  if (!kernel.split.empty())
    os << "       by itself: " << kernel.split << '\n';
  if (!kernel.parts.empty())
    os << "       parts: " << kernel.parts << '\n';
}

/// The reasons why kernels share no launch, each with its kernels.
static void printAlone(llvm::raw_ostream &os, const Explanation &e) {
  std::map<std::string, std::string> reasons;
  for (auto [i, kernel] : llvm::enumerate(e.kernels))
    if (!kernel.aloneWhy.empty())
      reasons[kernel.aloneWhy] += " " + std::to_string(i);
  if (reasons.empty() || e.kernels.size() < 2)
    return;
  os << "\nkernels that share no launch:\n";
  for (const auto &[reason, kernels] : reasons)
    os << " " << kernels << ": " << reason << '\n';
}

static void printKernels(llvm::raw_ostream &os, const Explanation &e) {
  os << "kernels on " << e.target << "; floor: minimum bytes at "
     << llvm::format("%.2f TB/s", e.bandwidth / 1e12) << ", "
     << e.bandwidthSource << "\n    #  kind         ops    minimum      moved  "
     << "floor us   pred us regs    shared spills  occup  ops\n";
  for (auto [i, kernel] : llvm::enumerate(e.kernels))
    printKernel(os, i, kernel);
  os << llvm::format("  total: floor %.2f us, predicted %.2f us\n",
                     e.floorMicroseconds(), e.predictedMicroseconds());
  if (!e.noResources.empty())
    os << "  no registers, shared memory, spills, occupancy: " << e.noResources
       << '\n';
}

static std::string described(const OpEntry &op) {
  return op.op + (op.place.empty() ? "" : " " + quoted(op.place));
}

static void printEdges(llvm::raw_ostream &os, const Explanation &e) {
  double saved = 0;
  size_t fused = 0;
  for (const EdgeEntry &edge : e.edges)
    if (edge.fused) {
      ++fused;
      saved += edge.microseconds;
    }
  auto refused = e.refused();
  os << llvm::format(
      "\n%zu edges fused, saving about %.2f us; %zu not fused%s\n", fused,
      saved, refused.size(), refused.empty() ? "" : ", most costly first:");
  for (const EdgeEntry *edge : refused) {
    os << "  " << described(edge->producer) << " -> "
       << described(edge->consumer);
    if (edge->producerKernel && edge->consumerKernel)
      os << " (kernels " << *edge->producerKernel << " and "
         << *edge->consumerKernel << ")";
    os << llvm::format(", at most %.2f us\n    why:  ", edge->microseconds)
       << edge->why << " (" << edge->reason << ")\n    then: " << edge->remedy
       << '\n';
  }
}

std::string fusec::tool::toText(const Explanation &e) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (e.failure.empty())
    os << toText(e.summary) << '\n';
  printKernels(os, e);
  printEdges(os, e);
  printAlone(os, e);
  if (!e.failure.empty())
    os << "\nthis is a plan only, it has no code yet: " << e.failure << '\n';
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static Object toJson(const OpEntry &op) {
  return Object{{"op", jsonText(op.op)}, {"place", jsonText(op.place)}};
}

static llvm::json::Value optionalJson(std::optional<uint32_t> value) {
  return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
}

static Object toJson(const KernelCode &code) {
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
  return object;
}

static Object toJson(const KernelEntry &kernel) {
  Array ops;
  for (const OpEntry &op : kernel.ops)
    ops.push_back(toJson(op));
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
  if (!kernel.split.empty())
    object["split"] = jsonText(kernel.split);
  if (!kernel.parts.empty())
    object["parts"] = kernel.numParts;
  if (!kernel.aloneWhy.empty()) {
    object["alone_reason"] = kernel.aloneReason;
    object["alone_why"] = jsonText(kernel.aloneWhy);
  }
  if (kernel.code)
    object["code"] = toJson(*kernel.code);
  return object;
}

static Object toJson(const EdgeEntry &edge) {
  auto kernel = [](std::optional<unsigned> index) {
    return index ? llvm::json::Value(*index) : llvm::json::Value(nullptr);
  };
  Object object{{"producer", toJson(edge.producer)},
                {"consumer", toJson(edge.consumer)},
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

Object fusec::tool::toJson(const Explanation &e) {
  Array kernels, edges;
  for (const KernelEntry &kernel : e.kernels)
    kernels.push_back(::toJson(kernel));
  for (const EdgeEntry &edge : e.edges)
    edges.push_back(::toJson(edge));
  Object object{{"target", e.target},
                {"bandwidth", Object{{"bytes_per_second", e.bandwidth},
                                     {"measured", e.bandwidthMeasured},
                                     {"source", jsonText(e.bandwidthSource)}}},
                {"kernels", std::move(kernels)},
                {"edges", std::move(edges)},
                {"floor_us", e.floorMicroseconds()},
                {"predicted_us", e.predictedMicroseconds()}};
  if (e.failure.empty())
    object["fusion"] = session::toJson(e.summary);
  else
    object["failure"] = jsonText(e.failure);
  if (!e.noResources.empty())
    object["no_resources"] = jsonText(e.noResources);
  return object;
}

//===----------------------------------------------------------------------===//
// DOT
//===----------------------------------------------------------------------===//

std::string fusec::tool::toDot(const Explanation &e) {
  // Names are the user's: jsonText makes them UTF-8, EscapeString plain.
  auto escaped = [](llvm::StringRef text) {
    std::string result;
    for (char c : llvm::json::fixUTF8(text)) {
      if (c == '"' || c == '\\')
        result += '\\';
      result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return result;
  };
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "digraph fusec {\n  node [shape=box, style=rounded, fontname=sans];\n"
        "  edge [fontname=sans, fontsize=10];\n";
  for (auto [i, kernel] : llvm::enumerate(e.kernels))
    os << "  k" << i << " [label=\"" << i << ' ' << escaped(kernel.kind)
       << "\\n"
       << escaped(opList(kernel.ops)) << "\\n"
       << bytesText(kernel.minimumBytes)
       << llvm::format(", %.2f us\"];\n", kernel.predictedMicroseconds);
  for (const EdgeEntry &edge : e.edges)
    if (!edge.fused && edge.producerKernel && edge.consumerKernel)
      os << "  k" << *edge.producerKernel << " -> k" << *edge.consumerKernel
         << " [label=\"" << escaped(edge.reason)
         << llvm::format("\\n%.2f us\", tooltip=\"", edge.microseconds)
         << escaped(described(edge.producer)) << " -> "
         << escaped(described(edge.consumer)) << ": " << escaped(edge.why)
         << "; " << escaped(edge.remedy) << "\"];\n";
  os << "}\n";
  return text;
}
