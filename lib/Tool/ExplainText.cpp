//===- ExplainText.cpp - a plan as text and DOT ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Explanation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace fusec;
using namespace fusec::tool;

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
  if (!kernel.schedule.empty())
    os << "       " << kernel.schedule << '\n';
  if (!kernel.choice.empty())
    os << "       "
       << (kernel.vendor.empty() ? "" : kernel.vendor + " in place of ")
       << kernel.choice << ", one of " << kernel.numCandidates << ": "
       << kernel.choiceWhy << '\n';
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

/// Where they were asked for.
static void printCompileTimes(llvm::raw_ostream &os, const Explanation &e) {
  bool any = false;
  for (auto [i, kernel] : llvm::enumerate(e.kernels)) {
    if (!kernel.code || !kernel.code->compileMicroseconds)
      continue;
    if (!any)
      os << "\nuser processor time of NVRTC for each kernel by itself, median "
            "of three:\n";
    any = true;
    os << llvm::format("  %3zu  %-11s %8.1f ms\n", i, kernel.kind.c_str(),
                       *kernel.code->compileMicroseconds / 1e3);
  }
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

/// Contractions of one operand, merged or not.
static void printSiblings(llvm::raw_ostream &os, const Explanation &e) {
  if (e.siblings.empty())
    return;
  size_t merged = 0;
  double saved = 0;
  for (const SiblingEntry &siblings : e.siblings)
    if (siblings.merged) {
      ++merged;
      saved += siblings.microseconds;
    }
  os << llvm::format("\nof %zu sets of products of one operand, %zu became "
                     "one product each, saving about %.2f us\n",
                     e.siblings.size(), merged, saved);
  for (const SiblingEntry &siblings : e.siblings) {
    if (siblings.merged)
      continue;
    os << " ";
    for (const OpEntry &member : siblings.members)
      os << " " << described(member);
    os << "\n    why:  " << siblings.why << " (" << siblings.reason
       << ")\n    then: " << siblings.remedy << '\n';
  }
}

std::string fusec::tool::toText(const Explanation &e) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (e.failure.empty())
    os << toText(e.summary) << '\n';
  printKernels(os, e);
  printEdges(os, e);
  printSiblings(os, e);
  printAlone(os, e);
  printCompileTimes(os, e);
  if (!e.failure.empty())
    os << "\nthis is a plan only, it has no code yet: " << e.failure << '\n';
  return text;
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
