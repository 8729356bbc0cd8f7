//===- ContractionChoice.cpp - which configuration ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ContractionChoice.h"
#include "ContractionHoles.h"
#include "KernelBuilder.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using cuda::GemmConfig;
using cuda::GemmRanked;

// Candidates beyond these have not been worth their compilation anywhere.
static constexpr size_t kMostTiles = 6, kMostCandidates = 10;
// Blocks that a grid holds.
static constexpr int64_t kMaxBlocks = (int64_t(1) << 31) - 1;

static std::vector<GemmRanked> rank(const KernelBuilder &kb,
                                    const ContractionShape &shape,
                                    cuda::GemmKind kind,
                                    cuda::GemmSupply supply,
                                    const cuda::GemmOrders *few) {
  if (kb.form.second())
    return cuda::rankPairConfigs(kind, shape.extent(shape.m),
                                 shape.extent(shape.n), shape.extent(shape.k),
                                 shape.extent(shape.batch),
                                 cuda::GemmDevice::of(kb.options.target));
  return cuda::rankGemmConfigs(kind, shape.extent(shape.m),
                               shape.extent(shape.n), shape.extent(shape.k),
                               shape.extent(shape.batch), supply,
                               cuda::GemmDevice::of(kb.options.target),
                               graph::hasFastAccumulation(kb.form.hero()), few);
}

bool graph_to_tile::hasConfig(const KernelBuilder &kb,
                              const ContractionShape &shape,
                              cuda::GemmKind kind) {
  return !rank(kb, shape, kind, cuda::GemmSupply::Computed, nullptr).empty();
}

GemmConfig graph_to_tile::modelConfig(const KernelBuilder &kb,
                                      const ContractionShape &shape,
                                      cuda::GemmKind kind,
                                      cuda::GemmSupply supply,
                                      const cuda::GemmOrders *few) {
  return rank(kb, shape, kind, supply, few).front().config;
}

/// Bytes of the states that the region keeps for a column.
static int64_t columnBytes(const analysis::RegionForm &form) {
  int64_t widest = 0, count = 0;
  for (Type type : HoleBuilder::stateTypes(form, /*areColumns=*/true)) {
    widest = std::max<int64_t>(
        widest, llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
    ++count;
  }
  return widest * count;
}

/// The model's best, those that differ from the very best in what the model
/// does not see, and then further ones.
static std::vector<GemmRanked> candidatesOf(std::vector<GemmRanked> ranked,
                                            const KernelBuilder &kb,
                                            const ContractionShape &shape) {
  std::vector<GemmRanked> result;
  int64_t stateBytes = columnBytes(kb.form);
  cuda::GemmDevice device = cuda::GemmDevice::of(kb.options.target);
  auto add = [&](const GemmConfig &config, double microseconds) {
    bool fits = config.holdsColumns(stateBytes, device) &&
                config.tiles(shape.extent(shape.m), shape.extent(shape.n),
                             shape.extent(shape.batch)) <= kMaxBlocks;
    bool isNew = llvm::none_of(result, [&](const GemmRanked &other) {
      return other.config.name() == config.name();
    });
    if (result.size() < kMostCandidates && (result.empty() || (fits && isNew)))
      result.push_back({config, microseconds});
  };
  GemmRanked best = ranked.front();
  for (const GemmRanked &one :
       llvm::ArrayRef(ranked).take_front(kMostTiles / 2))
    add(one.config, one.microseconds);
  for (const GemmConfig &variant : cuda::variantsOf(best.config, device))
    add(variant, best.microseconds);
  for (const GemmRanked &one : llvm::ArrayRef(ranked).take_front(kMostTiles))
    add(one.config, one.microseconds);
  return result;
}

static std::string titleOf(cuda::GemmKind kind, const ContractionShape &shape) {
  auto text = [&](ArrayRef<unsigned> loops) {
    return std::to_string(shape.extent(loops));
  };
  std::string title = cuda::name(kind).str() + " " + text(shape.m) + " x " +
                      text(shape.n) + ", k " + text(shape.k);
  return shape.extent(shape.batch) == 1
             ? title
             : title + ", batch " + text(shape.batch);
}

GemmConfig graph_to_tile::chooseConfig(const KernelBuilder &kb,
                                       const ContractionShape &shape,
                                       const ContractionProblem &problem) {
  // The warps of the loop for few rows have parts of k, not rows.
  bool reduces = !kb.form.statistics.empty();
  std::vector<GemmRanked> ranked = rank(kb, shape, problem.kind, problem.supply,
                                        reduces ? nullptr : &problem.orders);
  llvm::erase_if(ranked, [&](const GemmRanked &one) {
    return !one.config.holdsColumns(columnBytes(kb.form),
                                    cuda::GemmDevice::of(kb.options.target));
  });
  if (!kb.options.chooser)
    return ranked.front().config;
  if (problem.mustBeDirect) {
    auto isDirect = [](const GemmRanked &one) {
      return one.config.loop == cuda::GemmLoop::Direct;
    };
    if (!isDirect(ranked.front()))
      return ranked.front().config;
    llvm::erase_if(ranked, std::not_fn(isDirect));
  }
  ranked = candidatesOf(std::move(ranked), kb, shape);
  ScheduleQuestion question;
  question.title = titleOf(problem.kind, shape);
  for (const GemmRanked &one : ranked)
    question.candidates.push_back(
        {one.config.name(), one.microseconds, one.config.sumOrder()});
  size_t chosen = kb.options.chooser->choose(question).candidate;
  return ranked[chosen < ranked.size() ? chosen : 0].config;
}
