//===- StatisticHoles.h - reductions beside a contraction -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tile.contract and simt.contract say of the rows, or of the columns, that
// they reduce. States of rows come before those of columns, in the operands and
// among what the epilogue yields; so do their counters and regions.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_COMMON_STATISTICHOLES_H
#define FUSEC_DIALECT_COMMON_STATISTICHOLES_H

#include "mlir/IR/Region.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"

namespace fusec {

/// The states of one axis and the holes that deal with them.
struct StatisticHoles {
  bool areColumns = false;
  /// Where the states of parts are kept, one buffer for each state value.
  mlir::OperandRange states;
  /// The epilogue's yields of them.
  mlir::OperandRange yields;
  mlir::Value counters;
  mlir::Region *none = nullptr, *join = nullptr, *finish = nullptr;
};

/// Regions of an axis: none, join, finish.
inline constexpr unsigned kStatisticRegions = 3;

/// One for each axis along which `op` (verified) reduces, rows first.
template <class ContractOp>
llvm::SmallVector<StatisticHoles, 2> statisticHolesOf(ContractOp op) {
  llvm::SmallVector<StatisticHoles, 2> axes;
  mlir::OperandRange states = op.getStates();
  mlir::OperandRange yields =
      op.getEpilogue().front().getTerminator()->getOperands();
  size_t rows = op.getRowStates();
  for (bool areColumns : {false, true}) {
    size_t first = areColumns ? rows : 0;
    size_t count = areColumns ? states.size() - rows : rows;
    if (!count)
      continue;
    size_t axis = axes.size();
    mlir::MutableArrayRef<mlir::Region> regions =
        op.getStatistics().slice(axis * kStatisticRegions, kStatisticRegions);
    axes.push_back({areColumns, states.slice(first, count),
                    yields.slice(first, count), op.getCounters()[axis],
                    &regions[0], &regions[1], &regions[2]});
  }
  return axes;
}

} // namespace fusec

#endif // FUSEC_DIALECT_COMMON_STATISTICHOLES_H
