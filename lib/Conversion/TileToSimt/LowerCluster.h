//===- LowerCluster.h - reductions over the blocks of a cluster -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERCLUSTER_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERCLUSTER_H

#include "Places.h"

namespace fusec::tile_to_simt {

/// Says that the block has begun, if the cluster of `kernel` exchanges
/// anything.
void beginCluster(tile::KernelOp kernel, ThreadCode &code);

/// True if `op` combines what several blocks of a cluster hold.
bool spansCluster(tile::ReduceOp op);

/// The states of a reduction that each block has made, one array per operand.
struct BlockStates {
  tile::LayoutAttr layout;
  llvm::ArrayRef<mlir::Value> arrays;
  /// States in each array.
  int64_t count;
  /// True for digits along the axes that are reduced.
  DigitTest isReduced;
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange,
                                                    mlir::ValueRange)>
      combine;
};

/// Combines the states of all blocks of the cluster, in the order of their
/// ranks, in place and in every block alike: each writes its own to the shared
/// memory of all and reads its copies behind a barrier, so that no block
/// accesses another one's memory after the last exchange.
void combineOverCluster(mlir::Location loc, const BlockStates &states,
                        ThreadCode &code);

/// The same where each warp of each block has one state, the same in all of its
/// lanes: all of them go to all blocks at once, where the lanes of each warp
/// take one each and combine by shuffles. The warps of a block need not meet
/// before. The numbers of warps and blocks are powers of two.
void combineWarpsOfCluster(mlir::Location loc, const BlockStates &states,
                           ThreadCode &code);

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERCLUSTER_H
