//===- AskChooser.h - questions of schedules, completed ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_ASKCHOOSER_H
#define FUSEC_LIB_DRIVER_ASKCHOOSER_H

#include "fusec/Driver/Compile.h"

namespace fusec::driver {

/// Stands between the schedule of one region and the chooser: completes the
/// question by what the region computes and remembers it with its answer. For
/// one call of `lowerRegion`.
class AskChooser final : public ScheduleChooser {
public:
  /// `form` is the region whose sizes decide; `vendor` may be null.
  AskChooser(const ScheduleChooser &chooser, const VendorChooser *vendor,
             const analysis::RegionForm &form, const TileOptions &options)
      : chooser(chooser), vendor(vendor), form(form), options(options) {}

  ScheduleAnswer choose(const ScheduleQuestion &question) const override;

  /// What was asked last, with the tensors of `fusion`; nothing if nothing was.
  std::optional<ScheduleDecision> take(graph::FusionOp fusion);

private:
  const ScheduleChooser &chooser;
  const VendorChooser *vendor;
  const analysis::RegionForm &form;
  const TileOptions &options;
  mutable std::optional<ScheduleDecision> decision;
};

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_ASKCHOOSER_H
