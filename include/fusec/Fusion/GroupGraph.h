//===- GroupGraph.h - merging groups without cycles -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A directed acyclic graph whose nodes merge into groups. It keeps a number per
// group that rises along every edge, so whether a merge would close a cycle is
// asked by a search between two numbers instead of through the whole graph.
// Knows nothing of ops.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSION_GROUPGRAPH_H
#define FUSEC_FUSION_GROUPGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace fusec::fusion {

/// Groups of nodes; a group is named by any of its nodes, best by `find`. Not
/// thread-safe.
class GroupGraph {
public:
  enum class MergeCheck : uint8_t { Ok, Cycle, GaveUp };

  /// Adds a node as a group of its own, after all earlier ones in the order.
  unsigned addNode();
  /// Adds a node to an existing group.
  unsigned addMember(unsigned group);
  /// Adds an edge between nodes of one group, or of an earlier and a later one
  /// in the order.
  void addEdge(unsigned from, unsigned to);

  unsigned size() const { return parents.size(); }
  /// The name of the group that `node` is in.
  unsigned find(unsigned node);
  /// Rises along every edge between different groups.
  unsigned order(unsigned group) { return orders[find(group)]; }
  /// Members of a group, unordered.
  llvm::ArrayRef<unsigned> members(unsigned group);
  /// Groups with an edge to or from `group`, each once.
  llvm::ArrayRef<unsigned> predecessors(unsigned group);
  llvm::ArrayRef<unsigned> successors(unsigned group);

  /// Whether merging would leave the graph acyclic. Gives up after visiting
  /// `limit` groups in one direction.
  MergeCheck checkMerge(unsigned a, unsigned b, unsigned limit = 4096);
  /// Merges two groups for which `checkMerge` just said Ok; returns the name of
  /// the merged group.
  unsigned merge(unsigned a, unsigned b);

  /// All groups, producers first.
  llvm::SmallVector<unsigned> sortedGroups();
  /// Groups visited by searches so far: the work measure of tests.
  uint64_t visits() const { return numVisits; }
  /// True if the order rises along every edge: the invariant.
  bool verify();

private:
  llvm::SmallVector<unsigned> parents, orders;
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> preds, succs, nodes;
  llvm::SmallVector<unsigned> marks;
  unsigned mark = 0;
  uint64_t numVisits = 0;
  // What the last checkMerge found between the two groups.
  llvm::SmallVector<unsigned> after, before;

  llvm::ArrayRef<unsigned> clean(llvm::SmallVector<unsigned, 2> &list,
                                 unsigned group);
  MergeCheck search(unsigned start, unsigned target, bool forward,
                    unsigned limit, llvm::SmallVectorImpl<unsigned> &found);
};

} // namespace fusec::fusion

#endif // FUSEC_FUSION_GROUPGRAPH_H
