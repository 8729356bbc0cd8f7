//===- Refusal.h - why ops are not one kernel -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A refusal is a value, not a string: the reason, the op that stands in the
// way and the numbers that decided. Its sentences are made on demand.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_REFUSAL_H
#define FUSEC_ANALYSIS_REFUSAL_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace fusec::analysis {

enum class RefusalReason : uint8_t {
  /// Another op lies on a path between the two; fusing would make a cycle.
  WouldCreateCycle,
  /// The search for a cycle was given up (`number`: groups visited).
  CycleSearchTooLong,
  /// Two reductions do not share their axes (`first`, `second`: reduced axes of
  /// the kernel's longest reduction and of `op`).
  ReductionAxesDiffer,
  /// A reduction's result is read at an index that depends on reduced axes.
  IndexMixesReducedAxes,
  /// A reduction's result is read in another row than the one that makes it.
  ReadsAnotherRow,
  /// Column sums beside reductions of rows of `number` elements: the sums so
  /// far do not fit the registers of a block.
  ColumnAccumulators,
  /// A value would be computed `number` times over.
  RecomputeTooCostly,
  /// `number` values would be live at once in a thread.
  RegisterPressure,
  /// The op has no element-wise definition a kernel could inline.
  OpaqueOp,
  /// More than `number` ops in one kernel.
  RegionTooLarge,
  /// More than `number` buffers in one kernel.
  TooManyBuffers,
  /// Fusing would cost `number` µs more than it saves.
  NoProfit,
  /// Tiles with their halo are `number` times as large as without.
  HaloTooLarge,
  /// The staged tiles need `number` bytes of shared memory.
  SharedMemoryTooSmall,
  /// Two contractions; the first one's result would have to be recomputed.
  SecondContraction,
  /// A reduction next to a contraction.
  ReductionBesideContraction,
  /// A sliding window next to a reduction or contraction.
  WindowBesideReduction,
  /// Outputs have different iteration spaces (`first`, `second`: shapes).
  OutputShapesDiffer,
  /// The composed index expression has `number` terms.
  IndexTooComplex,
  /// The region is legal, but no generator builds it.
  NoSchedule,
  /// Side by side only: the op's kernel has block size and shared memory of its
  /// own.
  LaunchOfItsOwn,
  /// Side by side only: the kernel alone takes `number` µs, more than a launch.
  FillsTheMachine,
  /// Side by side only: values of `number` bytes would live longer.
  HoldsMemory,
  /// Sibling contractions only: operands that are not constants would be chosen
  /// element by element in a main loop of `number` µs.
  OperandsNotConstant,
  /// Side by side only: no small kernel is independent of this one.
  NothingBeside,
};

/// Which op a refusal speaks of. Outlives the op, which fusing erases.
struct OpRef {
  std::optional<mlir::OperationName> name;
  std::optional<mlir::Location> loc;

  OpRef() = default;
  OpRef(mlir::Operation *op) {
    if (op) {
      name = op->getName();
      loc = op->getLoc();
    }
  }
};

/// Why a set of ops, or a producer and a consumer, do not become one kernel.
struct Refusal {
  RefusalReason reason;
  /// The op that stands in the way, if one does.
  OpRef op = {};
  /// Shapes or axis sizes, by reason.
  llvm::SmallVector<int64_t> first = {}, second = {};
  /// A factor, count, byte count or time, by reason.
  double number = 0;

  /// What is wrong: lower case, no trailing period.
  std::string sentence() const;
  /// The smallest change to the graph or the options that would allow it.
  std::string remedy() const;
};

/// The reason's name as in the enum, for logs and tests.
llvm::StringRef name(RefusalReason reason);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_REFUSAL_H
