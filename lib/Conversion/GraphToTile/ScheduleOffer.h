//===- ScheduleOffer.h - candidates of a schedule ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_SCHEDULEOFFER_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_SCHEDULEOFFER_H

#include "KernelBuilder.h"

namespace fusec::graph_to_tile {

/// Ways to build a region, beyond those that a schedule's model ranks.
struct ScheduleOffer {
  /// For people: "rows 4096 x 1024".
  std::string title;
  struct Way {
    /// Stable, for records.
    std::string name;
    /// Equal where terms are added alike.
    std::string order;
  };
  /// The model's choice first.
  llvm::SmallVector<Way> ways;
};

/// Position of the way that the chooser takes: 0 without one, where there is no
/// choice, and for a region that shares its launch, which others agree with.
size_t choose(const KernelBuilder &kb, const ScheduleOffer &offer);

/// "4096 x 1024".
std::string sizesText(llvm::ArrayRef<int64_t> sizes);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_SCHEDULEOFFER_H
