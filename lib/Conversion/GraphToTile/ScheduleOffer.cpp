//===- ScheduleOffer.cpp - candidates of a schedule -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ScheduleOffer.h"
#include "fusec/Analysis/CostModel.h"

using namespace fusec;
using namespace fusec::graph_to_tile;

size_t graph_to_tile::choose(const KernelBuilder &kb,
                             const ScheduleOffer &offer) {
  if (!kb.options.chooser || kb.options.threads || offer.ways.size() < 2)
    return 0;
  analysis::FactTable facts;
  double estimate = analysis::CostModel(kb.options.target)
                        .estimate(facts, kb.pattern)
                        .total();
  ScheduleQuestion question;
  question.title = offer.title;
  for (const ScheduleOffer::Way &way : offer.ways)
    question.candidates.push_back({way.name, estimate, way.order});
  size_t chosen = kb.options.chooser->choose(question).candidate;
  return chosen < offer.ways.size() ? chosen : 0;
}

std::string graph_to_tile::sizesText(llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}
