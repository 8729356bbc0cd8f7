//===- PlanChoice.cpp - how a graph is cut into regions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PlanChoice.h"
#include "GraphDigest.h"
#include "fusec/Fusion/SplitSums.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

/// Ops between a product and a reduction of it that are looked at.
static constexpr unsigned kMostOps = 64;

/// Whether the reduction `op` reads a product, or what ops of single elements
/// and movement make of one.
static bool reducesProduct(Operation *op) {
  SmallVector<Value> open(op->getOperands());
  for (unsigned seen = 0; !open.empty() && seen < kMostOps; ++seen) {
    Operation *maker = open.pop_back_val().getDefiningOp();
    if (isa_and_nonnull<graph::ContractOp>(maker))
      return true;
    auto fusible = dyn_cast_or_null<graph::FusibleOpInterface>(maker);
    if (fusible && (fusible.getFusionRole() == graph::FusionRole::elementwise ||
                    fusible.getFusionRole() == graph::FusionRole::movement))
      open.append(maker->operand_begin(), maker->operand_end());
  }
  return false;
}

static bool hasReducedProduct(func::FuncOp function) {
  return llvm::any_of(function.getBody().front(), [](Operation &op) {
    auto fusible = dyn_cast<graph::FusibleOpInterface>(op);
    return fusible && fusible.getFusionRole() == graph::FusionRole::reduction &&
           reducesProduct(&op);
  });
}

PlanWay driver::choosePlan(func::FuncOp function,
                           const CompileOptions &options) {
  using fusion::ProductStatistics;
  // The rows of a divided product are not its outermost loop, so that no other
  // number of them can follow; nor do reductions have a place for each.
  if (!options.horizontal || options.batchInvariant)
    return {false, ProductStatistics::Never};
  PlanWay usual;
  if (!options.chooser)
    return usual;
  SmallVector<PlanWay> ways = {usual};
  ScheduleQuestion question;
  question.isPlan = true;
  question.title = "regions of the graph";
  auto add = [&](const char *name, PlanWay way) {
    question.candidates.push_back({name, 0, name});
    ways.push_back(way);
  };
  question.candidates.push_back({"as estimated", 0, "as estimated"});
  if (fusion::hasLongSums(function, options.target))
    add("long sums whole", {false, usual.statistics});
  if (hasReducedProduct(function)) {
    add("reductions of products in kernels of their own",
        {true, ProductStatistics::Never});
    add("reductions of products in their kernels",
        {true, ProductStatistics::Always});
  }
  if (ways.size() == 1)
    return usual;
  question.problem = "plan-" + planDigest(function);
  if (options.numerics == NumericsMode::Exact)
    question.problem += "-exact";
  size_t chosen = options.chooser->choose(question).candidate;
  return ways[chosen < ways.size() ? chosen : 0];
}
