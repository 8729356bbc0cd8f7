//===- FillSlots.h - what loops load and keep -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to KeepLoads.cpp.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_FILLSLOTS_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_FILLSLOTS_H

#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

namespace fusec::graph_to_tile {

/// A loop whose range is known.
struct LoopRange {
  int64_t lower, upper, step;
  friend bool operator==(const LoopRange &, const LoopRange &) = default;
  int64_t trips() const {
    return upper <= lower ? 0 : llvm::divideCeil(upper - lower, step);
  }
};
std::optional<LoopRange> rangeOf(mlir::scf::ForOp loop);

/// What `loop` loads, and finds in `buffer` with the loops after it.
struct Kept {
  mlir::scf::ForOp loop;
  tile::LoadOp load;
  mlir::Value buffer;
};

/// Where iteration `at` of loops over `range` has the elements of a tile of
/// `carrier`: a slot for each that the thread holds.
mlir::Value iterationSlots(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::RankedTensorType carrier, int64_t threads,
                           const LoopRange &range, mlir::Value at);

/// Puts all of `kept` into its buffers. The loops are at the top of `kernel`.
void fillSlots(tile::KernelOp kernel, mlir::RankedTensorType carrier,
               llvm::ArrayRef<Kept> kept);

/// Reads `load` of `loop` from `buffer` instead.
void readSlots(tile::KernelOp kernel, mlir::RankedTensorType carrier,
               const Kept &one);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_FILLSLOTS_H
