//===- PlanGraph.h - the graph that the planner works on --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. One node per op of the block, except that an op which
// is cheaper to recompute than to store (index arithmetic, and small values
// about to be broadcast) gets a node per user. Copies that end in one group are
// one op again; copies that find no group are one kernel again.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_PLANGRAPH_H
#define FUSEC_LIB_FUSION_PLANGRAPH_H

#include "fusec/Analysis/OpFacts.h"
#include "fusec/Fusion/GroupGraph.h"

namespace fusec::fusion {

struct PlanNode {
  mlir::Operation *op = nullptr;
  /// Null for ops that stay outside of kernels.
  const analysis::OpFacts *facts = nullptr;
  /// Nodes that read a result, each once.
  llvm::SmallVector<unsigned, 2> users;
  /// The block's terminator reads a result.
  bool isReturned = false;
  /// Another node has the same op.
  bool isCopy = false;
};

/// Nodes of one block in topological order. Constants have none.
class PlanGraph {
public:
  PlanGraph(mlir::Block &block, analysis::FactTable &facts);

  llvm::SmallVector<PlanNode> nodes;
  /// Edges and groups over `nodes`.
  GroupGraph groups;
  /// Number of ops with a node.
  unsigned numOps = 0;

  /// Adds another node for the op of `node` to `group`; it has no users yet.
  unsigned addCopy(unsigned node, unsigned group);
  /// Records that `user` reads `producer`.
  void addUse(unsigned producer, unsigned user);
  /// Lets `user` read `to`, a copy of `from`, instead of `from`.
  void moveUse(unsigned from, unsigned to, unsigned user);
  /// Nodes that `node` reads, each once.
  llvm::SmallVector<unsigned> producersOf(unsigned node);

private:
  void addCopies(mlir::Operation *op, analysis::FactTable &facts);

  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 1>> copies;
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> producers;
  unsigned spareCopies = 0;
};

/// True for constants that are copied into kernels: splats and up to 16
/// elements.
bool isInlineConstant(mlir::Operation *op);

/// The op of `block` that holds `op`, itself or an ancestor.
mlir::Operation *ancestorIn(mlir::Block &block, mlir::Operation *op);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_PLANGRAPH_H
