//===- NodeOrder.cpp - the order in which nodes are imported --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeOrder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <queue>

using namespace fusec::onnx;
using llvm::StringRef;

/// Calls `use` with every name that the node reads, or that a node of its
/// branches reads; names that a branch defines itself are among them.
static void forEachUse(const Node &node,
                       llvm::function_ref<void(StringRef)> use) {
  llvm::SmallVector<const Graph *> open;
  auto visit = [&](const Node &next) {
    for (StringRef name : next.inputs)
      if (!name.empty())
        use(name);
    for (const Attribute &attribute : next.attributes) {
      if (attribute.g)
        open.push_back(attribute.g.get());
      for (const Graph &graph : attribute.graphs)
        open.push_back(&graph);
    }
  };
  visit(node);
  while (!open.empty()) {
    const Graph *graph = open.pop_back_val();
    for (const Node &inner : graph->nodes)
      visit(inner);
    for (const ValueInfo &output : graph->outputs)
      use(output.name);
  }
}

std::vector<size_t> importer::nodeOrder(llvm::ArrayRef<Node> nodes) {
  llvm::DenseMap<StringRef, size_t> makers;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (StringRef name : nodes[i].outputs)
      if (!name.empty())
        makers.try_emplace(name, i);

  std::vector<std::vector<size_t>> readers(nodes.size());
  std::vector<size_t> missing(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i)
    forEachUse(nodes[i], [&](StringRef name) {
      auto maker = makers.find(name);
      if (maker == makers.end() || maker->second == i)
        return;
      readers[maker->second].push_back(i);
      ++missing[i];
    });

  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<size_t> order;
  std::vector<bool> placed(nodes.size(), false);
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    placed[next] = true;
    for (size_t reader : readers[next])
      if (--missing[reader] == 0)
        ready.push(reader);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!placed[i])
      order.push_back(i);
  return order;
}
