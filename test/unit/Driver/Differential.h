//===- Differential.h - one graph, several ways -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a graph (MLIR text) in the reference evaluator and as kernels in the
// emulator, fused and one kernel per op, and on request on the host, on seeded
// inputs, and compares.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_DRIVER_DIFFERENTIAL_H
#define FUSEC_TEST_UNIT_DRIVER_DIFFERENTIAL_H

#include "fusec/Driver/Compile.h"
#include "fusec/Support/HostTensor.h"
#include "gtest/gtest.h"

namespace fusec::test {

/// How outputs may differ from the reference evaluator's.
struct Tolerance {
  /// |difference| <= relative * |expected| + absolute for floats; integers,
  /// NaN positions and infinities are equal.
  double relative = 0, absolute = 0;
};

/// Options of a comparison.
struct DifferentialOptions {
  Tolerance tolerance;
  /// Put NaN, infinities, zeros of both signs and denormals among the inputs.
  bool special = false;
  uint64_t seed = 1;
  /// Kernels expected of the fused program; nothing: any number.
  std::optional<size_t> kernels = std::nullopt;
  /// Integer inputs are drawn from [0, integerLimit).
  int64_t integerLimit = 100;
  NumericsMode numerics = NumericsMode::Default;
  /// Also run it fused without anything shared between independent kernels
  /// (CompileOptions::horizontal), and expect the same bits.
  bool sameBitsApart = false;
  /// Also run the fused graph on the host target.
  bool host = false;
  /// The machine that fused kernels are planned for; nothing: the default.
  std::optional<TargetInfo> target = std::nullopt;
  /// Picks among candidates of the fused program's kernels.
  std::shared_ptr<const ScheduleChooser> chooser = nullptr;
};

/// Seeded values of `type`: floats in [-2, 2), integers in [0, limit).
HostTensor randomTensor(mlir::RankedTensorType type,
                        const DifferentialOptions &options, uint64_t stream);

/// Compiles `text` fused and unfused, runs both in the emulator and checks them
/// against the reference evaluator; on the host only if `options` ask for it.
/// Failures are GoogleTest failures.
void checkGraph(llvm::StringRef text, const DifferentialOptions &options = {});

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_DRIVER_DIFFERENTIAL_H
