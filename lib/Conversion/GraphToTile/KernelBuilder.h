//===- KernelBuilder.h - the frame of a block program -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all schedules share: the kernel op with its arguments and index tiles of
// linear axes.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_KERNELBUILDER_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_KERNELBUILDER_H

#include "RegionEmitter.h"
#include "fusec/Analysis/RowTiling.h"
#include "fusec/Analysis/TransposeTile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fusec::graph_to_tile {

/// What a schedule works on: one region, the kernel under construction and the
/// emitter of its elements. A schedule calls `begin` once, sets carriers, masks
/// and staged values on `emitter`, and stores outputs through it; everything is
/// built at `builder`'s insertion point. Lives for one call of `lowerRegion`.
class KernelBuilder {
public:
  /// The kernel will be the last op of `module` and have symbol `name`.
  /// References must outlive the builder.
  KernelBuilder(graph::FusionOp fusion, const analysis::RegionForm &form,
                const TileOptions &options, mlir::ModuleOp module,
                llvm::StringRef name);

  graph::FusionOp fusion;
  const analysis::RegionForm &form;
  /// The form whose sizes decide: `form`, or that of the same region in other
  /// sizes.
  const analysis::RegionForm &pattern;
  /// The form whose sizes extents and grid are for.
  const analysis::RegionForm &counted;
  const TileOptions &options;
  mlir::OpBuilder builder;
  mlir::Location loc;
  tile::KernelOp kernel;
  RegionEmitter emitter;

  /// A buffer of the kernel's own in device memory.
  struct Scratch {
    mlir::Type element;
    int64_t count;
  };
  /// Creates the kernel with `extents` as run-time index arguments. The last
  /// `kept` buffers of `scratch` are zero at the first launch and keep their
  /// contents between launches.
  void begin(int64_t threads, llvm::ArrayRef<int64_t> grid,
             llvm::ArrayRef<int64_t> extents,
             llvm::ArrayRef<Scratch> scratch = {}, int64_t kept = 0);
  /// The scratch buffer at `position`.
  mlir::Value scratch(unsigned position);
  /// The run-time extent at `position`.
  mlir::Value extent(unsigned position);
  /// The buffer of result `result` of the fusion.
  mlir::Value outputBuffer(unsigned result);

  /// Scalar index arithmetic; constants fold when tiles are cleaned up.
  mlir::Value index(int64_t value);
  mlir::Value addIndex(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mulIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value blockId(unsigned dimension);
  /// Builds at the end of the body of `loop` from now on; the caller yields.
  void enterBody(mlir::scf::ForOp loop);
  /// start + coordinate along `axis`, a tile of type `carrier`.
  mlir::Value axisTile(mlir::RankedTensorType carrier, int64_t axis,
                       mlir::Value start);
  /// value < bound, elementwise, for a scalar bound.
  mlir::Value below(mlir::RankedTensorType carrier, mlir::Value value,
                    mlir::Value bound);
  /// Splits a linear index tile in [0, product) into one tile per size; the
  /// results have ranges set, so that offsets simplify.
  llvm::SmallVector<mlir::Value> split(mlir::Value linear,
                                       llvm::ArrayRef<int64_t> sizes);

  /// Product of `sizes`.
  static int64_t product(llvm::ArrayRef<int64_t> sizes);
  /// A divisor of `size` for an extent to count in: the largest power of two
  /// up to 16, so that divisibility is part of the text and the size is not.
  static int64_t extentUnit(int64_t size) {
    return size ? std::min<int64_t>(16, size & -size) : 1;
  }
  /// The type of an index tile of `shape` that is held as `layout` says.
  mlir::RankedTensorType carrierType(llvm::ArrayRef<int64_t> shape,
                                     tile::LayoutAttr layout);

private:
  mlir::ModuleOp module;
  std::string name;
};

// One per kind of region; each returns the finished kernel or failure with a
// diagnostic.
mlir::FailureOr<tile::KernelOp> schedulePointwise(KernelBuilder &kb);
mlir::FailureOr<tile::KernelOp>
scheduleTranspose(KernelBuilder &kb, const analysis::TransposeTile &tile);
mlir::FailureOr<tile::KernelOp> scheduleContraction(KernelBuilder &kb);
mlir::FailureOr<tile::KernelOp>
scheduleRow(KernelBuilder &kb, const analysis::AccessFacts &access);
/// A Row region with columns.
mlir::FailureOr<tile::KernelOp> scheduleColumns(KernelBuilder &kb);
mlir::FailureOr<tile::KernelOp> scheduleStencil(KernelBuilder &kb);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_KERNELBUILDER_H
