//===- DecomposeComposites.cpp - composites to primitives -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks each composite for its definition and puts it in its place. A definition
// may hold composites again, so rounds repeat until none is left.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"

#define DEBUG_TYPE "fusec-graph-decompose-composites"

namespace fusec::graph {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITESPASS
#include "fusec/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace fusec::graph

using namespace mlir;
using namespace fusec;

int64_t graph::decomposeComposites(Operation *root) {
  int64_t count = 0;
  SmallVector<CompositeOpInterface> work;
  auto collect = [&] {
    work.clear();
    root->walk([&](CompositeOpInterface op) {
      if (op.getOperation() != root)
        work.push_back(op);
    });
    return !work.empty();
  };
  while (collect()) {
    for (CompositeOpInterface op : work) {
      OpBuilder builder(op);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
    count += work.size();
  }
  return count;
}

namespace {
struct DecomposeCompositesPass
    : graph::impl::DecomposeCompositesPassBase<DecomposeCompositesPass> {
  void runOnOperation() override {
    numDecomposed += graph::decomposeComposites(getOperation());
  }
};
} // namespace
