//===- LoadAhead.h - loads of the next iteration ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_LOADAHEAD_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_LOADAHEAD_H

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>

namespace fusec::graph_to_tile {

/// Moves what is the same in each iteration out of `loop`, loads of the
/// kernel's read-only buffers included. The loop has an iteration at least.
void hoistFromLoop(mlir::scf::ForOp loop);

/// Loads of read-only buffers in `loop`, a loop of a block program, whose
/// addresses follow from its variable alone, happen an iteration ahead and are
/// carried. The loop, whose steps are 1 or more, has an iteration at least and
/// its loads are legal for each number from the lower to the upper bound.
void loadAhead(mlir::scf::ForOp loop);

/// Where copies that run ahead of a loop go.
struct CopyRing {
  /// The shape and layout of the tiles that are copied.
  mlir::RankedTensorType carrier;
  /// Of a block.
  int64_t threads;
  /// Iterations that have a place in shared memory, at least 2.
  int64_t stages;
  /// Whether loads of this buffer are copied.
  std::function<bool(mlir::BlockArgument)> isCopied;
};
/// The same for loads of tiles like the ring's carrier, which are copied to
/// shared memory `stages` - 1 iterations ahead and take no registers meanwhile.
/// Nothing is read for iterations past the last. Returns the loop that takes
/// the place of `loop`.
mlir::scf::ForOp copyAhead(mlir::scf::ForOp loop, const CopyRing &ring);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_LOADAHEAD_H
