//===- ContextReplay.cpp - launches kept as graphs ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Consecutive launches become one graph when the context is made. Before it is
// replayed, the nodes whose arguments are not those of the last replay are
// updated: usually the few that touch an input or output. Where the device has
// no graphs, the caller captures the stream, or most nodes changed, the steps
// are enqueued one by one.
//===----------------------------------------------------------------------===//
#include "ContextImpl.h"

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

// One or two launches cost less by themselves.
static constexpr size_t kFewestSteps = 3;

// The step as an element of a graph, if it can be one.
static std::optional<GraphStep> graphStep(const ReadyStep &step,
                                          bool fixedWorkspace,
                                          llvm::ArrayRef<void *> temporaries) {
  if (const auto *launch = std::get_if<ReadyLaunch>(&step.action))
    return launch->vendor.product ? std::nullopt
                                  : std::optional<GraphStep>(launch->request);
  const auto *fill = std::get_if<ReadyFill>(&step.action);
  // A node of another kind is never updated, so its pointer must stay.
  if (fill && fixedWorkspace && fill->to >= temporaries.begin() &&
      fill->to < temporaries.end())
    return GraphStep(FillRequest{*fill->to, 0, fill->bytes});
  return std::nullopt;
}

Error ExecutionContext::Impl::buildSegments() {
  stale.assign(steps.size(), 0);
  if (!options.replay || options.checkEachStep)
    return Error::success();
  llvm::ArrayRef<void *> temporaries =
      llvm::ArrayRef(slots).drop_front(firstOfSpace[size_t(Space::Temporary)]);
  std::vector<GraphStep> pending;
  auto close = [&](size_t end) -> Error {
    std::vector<GraphStep> chain = std::exchange(pending, {});
    if (chain.size() < kFewestSteps)
      return Error::success();
    auto graph = device.makeGraph(chain);
    if (!graph)
      return graph.takeError();
    if (*graph)
      segments.push_back({end - chain.size(), chain.size(), std::move(*graph)});
    return Error::success();
  };
  for (auto [i, step] : llvm::enumerate(steps)) {
    if (auto element = graphStep(step, !options.allocator, temporaries)) {
      pending.push_back(*element);
      continue;
    }
    if (Error error = close(i))
      return error;
  }
  return close(steps.size());
}

void ExecutionContext::Impl::markUsers(size_t slot) {
  for (uint32_t step : slotUsers[slot])
    stale[step] = 1;
}

// False where the steps are better enqueued one by one.
Expected<bool> ExecutionContext::Impl::replay(Segment &segment, Stream stream) {
  // With most pointers new, and perhaps new again at the next call, updating
  // costs more than launching.
  auto first = stale.begin() + segment.first, last = first + segment.count;
  if (pointersChanged &&
      2 * static_cast<size_t>(std::count(first, last, 1)) > segment.count)
    return false;
  for (size_t i = 0; i < segment.count; ++i) {
    if (!stale[segment.first + i])
      continue;
    const ReadyStep &step = steps[segment.first + i];
    if (Error error = device.updateGraph(
            *segment.graph, i, std::get<ReadyLaunch>(step.action).request))
      return describe(step.index, std::move(error));
    stale[segment.first + i] = 0;
  }
  if (Error error = device.launchGraph(*segment.graph, stream))
    return describe(steps[segment.first].index, std::move(error));
  return true;
}
