//===- GroupGraphTest.cpp - merging without cycles ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random merges are compared with a search through the whole graph.
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/GroupGraph.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace fusec::fusion;
using Check = GroupGraph::MergeCheck;

namespace {

TEST(GroupGraph, RefusesADiamondsEnds) {
  GroupGraph graph;
  for (int i = 0; i < 4; ++i)
    graph.addNode();
  graph.addEdge(0, 1);
  graph.addEdge(0, 2);
  graph.addEdge(1, 3);
  graph.addEdge(2, 3);
  EXPECT_EQ(graph.checkMerge(0, 3), Check::Cycle);
  EXPECT_EQ(graph.checkMerge(0, 1), Check::Ok);
  graph.merge(0, 1);
  EXPECT_EQ(graph.checkMerge(0, 3), Check::Cycle);
  ASSERT_EQ(graph.checkMerge(0, 2), Check::Ok);
  graph.merge(0, 2);
  ASSERT_EQ(graph.checkMerge(3, 0), Check::Ok);
  graph.merge(3, 0);
  EXPECT_EQ(graph.members(1).size(), 4u);
  EXPECT_TRUE(graph.successors(0).empty());
}

TEST(GroupGraph, VerifiesThatEdgesRise) {
  GroupGraph graph;
  for (int i = 0; i < 3; ++i)
    graph.addNode();
  graph.addEdge(0, 2);
  EXPECT_TRUE(graph.verify());
  graph.addEdge(2, 1);
  EXPECT_FALSE(graph.verify());
}

TEST(GroupGraph, GivesUpAtTheLimit) {
  GroupGraph graph;
  constexpr unsigned n = 100;
  for (unsigned i = 0; i < n; ++i)
    graph.addNode();
  for (unsigned i = 1; i + 1 < n; ++i)
    graph.addEdge(0, i);
  graph.addEdge(0, n - 1);
  EXPECT_EQ(graph.checkMerge(0, n - 1, 10), Check::GaveUp);
  EXPECT_EQ(graph.checkMerge(0, n - 1), Check::Ok);
}

/// Whether groups a and b have a path between them through a third group.
bool hasDetour(GroupGraph &graph, unsigned a, unsigned b) {
  a = graph.find(a), b = graph.find(b);
  auto reaches = [&](unsigned from, unsigned to) {
    std::set<unsigned> seen;
    llvm::SmallVector<unsigned> stack;
    for (unsigned next : graph.successors(from))
      if (next != to)
        stack.push_back(next);
    while (!stack.empty()) {
      unsigned at = stack.pop_back_val();
      if (at == to)
        return true;
      if (!seen.insert(at).second)
        continue;
      for (unsigned next : graph.successors(at))
        stack.push_back(next);
    }
    return false;
  };
  return reaches(a, b) || reaches(b, a);
}

TEST(GroupGraph, AgreesWithAFullSearch) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    GroupGraph graph;
    constexpr unsigned n = 60;
    for (unsigned i = 0; i < n; ++i) {
      graph.addNode();
      for (unsigned k = 0; k < 2 && i > 0; ++k)
        graph.addEdge(random() % i, i);
    }
    for (unsigned step = 0; step < 200; ++step) {
      unsigned a = random() % n, b = random() % n;
      if (graph.find(a) == graph.find(b))
        continue;
      bool detour = hasDetour(graph, a, b);
      ASSERT_EQ(graph.checkMerge(a, b), detour ? Check::Cycle : Check::Ok);
      if (detour)
        continue;
      graph.merge(a, b);
      ASSERT_TRUE(graph.verify());
    }
  }
}

} // namespace
