//===- GroupGraph.cpp - merging groups without cycles ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order is maintained as Pearce and Kelly do for edge insertion (ACM JEA
// 2006): with order(a) < order(b), let `after` be the groups reachable from a
// and `before` those that reach b, both strictly between the two numbers and
// not by the edge a -> b itself. They are disjoint exactly if the merge closes
// no cycle. Then before, merged, after share out the numbers that these groups
// had. One number stays unused.
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/GroupGraph.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec::fusion;
using llvm::ArrayRef;
using llvm::SmallVector;

unsigned GroupGraph::addNode() {
  unsigned id = parents.size();
  parents.push_back(id);
  orders.push_back(id);
  preds.emplace_back();
  succs.emplace_back();
  nodes.emplace_back().push_back(id);
  marks.push_back(0);
  return id;
}

unsigned GroupGraph::addMember(unsigned group) {
  unsigned id = addNode();
  group = find(group);
  parents[id] = group;
  nodes[id].clear();
  nodes[group].push_back(id);
  return id;
}

void GroupGraph::addEdge(unsigned from, unsigned to) {
  succs[find(from)].push_back(to);
  preds[find(to)].push_back(from);
}

unsigned GroupGraph::find(unsigned node) {
  while (parents[node] != node)
    node = parents[node] = parents[parents[node]];
  return node;
}

ArrayRef<unsigned> GroupGraph::members(unsigned group) {
  return nodes[find(group)];
}

ArrayRef<unsigned> GroupGraph::clean(SmallVector<unsigned, 2> &list,
                                     unsigned group) {
  for (unsigned &other : list)
    other = find(other);
  llvm::sort(list);
  list.erase(llvm::unique(list), list.end());
  llvm::erase(list, group);
  return list;
}

ArrayRef<unsigned> GroupGraph::predecessors(unsigned group) {
  group = find(group);
  return clean(preds[group], group);
}

ArrayRef<unsigned> GroupGraph::successors(unsigned group) {
  group = find(group);
  return clean(succs[group], group);
}

GroupGraph::MergeCheck
GroupGraph::search(unsigned start, unsigned target, bool forward,
                   unsigned limit, llvm::SmallVectorImpl<unsigned> &found) {
  found.clear();
  ++mark;
  unsigned low = std::min(orders[start], orders[target]);
  unsigned high = std::max(orders[start], orders[target]);
  auto expand = [&](unsigned group) {
    for (unsigned other : forward ? successors(group) : predecessors(group)) {
      if (other == target) {
        if (group != start)
          return false;
        continue;
      }
      if (orders[other] <= low || orders[other] >= high || marks[other] == mark)
        continue;
      marks[other] = mark;
      found.push_back(other);
    }
    return true;
  };
  if (!expand(start))
    return MergeCheck::Cycle;
  for (unsigned i = 0; i < found.size(); ++i) {
    ++numVisits;
    if (!expand(found[i]))
      return MergeCheck::Cycle;
    if (found.size() > limit)
      return MergeCheck::GaveUp;
  }
  return MergeCheck::Ok;
}

GroupGraph::MergeCheck GroupGraph::checkMerge(unsigned a, unsigned b,
                                              unsigned limit) {
  a = find(a), b = find(b);
  if (orders[a] > orders[b])
    std::swap(a, b);
  if (MergeCheck check = search(a, b, true, limit, after);
      check != MergeCheck::Ok)
    return check;
  if (after.empty()) {
    before.clear();
    return MergeCheck::Ok;
  }
  return search(b, a, false, limit, before);
}

unsigned GroupGraph::merge(unsigned a, unsigned b) {
  a = find(a), b = find(b);
  if (orders[a] > orders[b])
    std::swap(a, b);
  unsigned newOrder = orders[b];
  if (!after.empty()) {
    auto byOrder = [&](unsigned x, unsigned y) {
      return orders[x] < orders[y];
    };
    llvm::sort(after, byOrder);
    llvm::sort(before, byOrder);
    SmallVector<unsigned> slots{orders[a], orders[b]};
    for (unsigned group : llvm::concat<unsigned>(after, before))
      slots.push_back(orders[group]);
    llvm::sort(slots);
    unsigned next = 0;
    for (unsigned group : before)
      orders[group] = slots[next++];
    newOrder = slots[next++];
    for (unsigned group : after)
      orders[group] = slots[next++];
  }
  unsigned big = a, small = b;
  if (nodes[big].size() < nodes[small].size())
    std::swap(big, small);
  parents[small] = big;
  orders[big] = newOrder;
  auto append = [&](auto &lists) {
    llvm::append_range(lists[big], lists[small]);
    lists[small].clear();
  };
  append(nodes);
  append(preds);
  append(succs);
  return big;
}

SmallVector<unsigned> GroupGraph::sortedGroups() {
  SmallVector<unsigned> groups;
  for (unsigned id = 0; id < size(); ++id)
    if (find(id) == id)
      groups.push_back(id);
  llvm::sort(groups,
             [&](unsigned x, unsigned y) { return orders[x] < orders[y]; });
  return groups;
}

bool GroupGraph::verify() {
  for (unsigned group : sortedGroups())
    for (unsigned next : successors(group))
      if (orders[next] <= orders[group])
        return false;
  return true;
}
