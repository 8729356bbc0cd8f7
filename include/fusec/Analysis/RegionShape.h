//===- RegionShape.h - the shape of a fused kernel --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A set of ops can be one kernel if it has a *spine*: one box of loops,
// parallel axes then reduced axes, onto which every op maps. `analyzeRegion`
// finds it or says why there is none. It is the planner's legality test and
// the starting point of every lowering, so the two cannot disagree.
//
// The model
// ---------
// A *placement* says where on the spine a value's elements are made: a map from
// spine dims to the value's dims that visits every element exactly once. An
// output of full shape is placed by a map of all dims, one of parallel shape by
// a map of the parallel dims alone. A reduction is placed as a whole: its loops
// (parallel, then reduced) as functions of the spine's, parallel ones from
// parallel dims only and reduced ones from reduced dims only.
//
// Everything else is *inlined*: computed where it is read. `reads` lists for
// each op the distinct maps (spine dims -> result index) at which its elements
// are needed. One map is the usual case. Several, or one that is not a
// bijection, mean evaluating the op at each of them; that is always legal for
// inlined ops, because the nested reads end at buffers, constants or at
// reductions, and a reduction is read only at its own placement: along a row
// its result is one value that all threads of the row hold. (So `rotate-half`
// after a norm is legal: the norm's element-wise part is evaluated at two
// indices.) A null map is an index that depends on data.
//
// Kinds
// -----
// Pointwise    no reduced axes; spine = shape of the first output.
// Row          spine = loops of the longest reduction. Reductions run in
// `stages`
//              order, `level` by `level`; a level needs the levels before it.
//              Reductions over the parallel axes beside them, one result a
//              column, are `columns`: complete when all rows are done, and read
//              by nothing that is made for each row.
// Stencil      spine = shape of the output. Stages are the window ops in order;
//              each has the box of its result that one spine tile needs. None
//              where windows are spelt with slices; such regions march.
//              Reductions along the last dim of what windows made are a Row
//              region `behind` them (a norm over the channels of an image).
// Contraction  spine = loops of the hero. Prologue ops are read at maps of all
//              dims through the hero's operands, epilogue ops at parallel dims.
//              Reductions of what the epilogue makes over the loops of one
//              operand are `statistics`, of rows or of columns, read by nothing
//              but ops of one value a row or column. A second product of the
//              same operand may stand beside the hero (a pair).
// Naive        one op that is a kernel of its own, any role.
// Multi        independent regions side by side in one launch (`parts`).
// Chain        regions one after the other in one launch of one cluster.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_REGIONSHAPE_H
#define FUSEC_ANALYSIS_REGIONSHAPE_H

#include "fusec/Analysis/OpFacts.h"
#include "fusec/Analysis/Refusal.h"
#include "llvm/ADT/MapVector.h"
#include <memory>
#include <variant>
#include <vector>

namespace fusec::analysis {

enum class KernelKind : uint8_t {
  Pointwise,
  Row,
  Stencil,
  Contraction,
  Naive,
  Multi,
  Chain
};

/// "pointwise", "row", ...
llvm::StringRef name(KernelKind kind);

/// A value that the kernel stores.
struct RegionOutput {
  mlir::Value value;
  /// Spine dims -> index in `value`; visits each element once (or each row's
  /// first where they are gathered).
  mlir::AffineMap index;
  /// Stored once per parallel index: `index` uses no reduced dim.
  bool isUniform = false;
  /// Row: made of column sums: stored once per reduced index, when all rows are
  /// done; `index` uses no parallel dim. Contraction: a statistic of columns.
  bool isColumn = false;
  /// Row: a concatenation of values that are one a row. Operand i is stored at
  /// `index` with i along the axis on which they are joined.
  bool isGathered = false;
  /// Contraction: one value a row or column, stored when that is complete;
  /// `index` uses no dim that `statistics` of its kind reduce.
  bool isStatistic = false;
};

/// What a tile of the spine needs of one axis of a staged value: elements
/// scale * d + [low, high] for d in the tile, or the whole axis.
struct TileExtent {
  /// Spine dim; none: the whole axis [0, size) or the constant range.
  std::optional<unsigned> dim;
  int64_t scale = 1;
  int64_t low = 0, high = 0;

  /// Elements that a tile with `tile` points along `dim` needs.
  int64_t extent(int64_t tile) const {
    return dim ? scale * (tile - 1) + high - low + 1 : high - low + 1;
  }
  bool operator==(const TileExtent &other) const = default;
};

/// An op with reduced axes that runs as a loop nest of its own.
struct RegionStage {
  mlir::Operation *op = nullptr;
  /// Spine dims -> (parallel, reduced) loop indices of `op`. Null in a Stencil.
  mlir::AffineMap loops;
  /// Spine dims -> index of the results: the parallel part of `loops`.
  mlir::AffineMap result;
  /// 0 for stages that need no other stage, else one more than the largest.
  unsigned level = 0;
  /// Stencil only: the box of the result that a spine tile needs.
  llvm::SmallVector<TileExtent> box;
  /// One of a contraction's `statistics` that reduces rows, so that columns are
  /// left.
  bool isColumn = false;
};

/// How one op is evaluated.
struct OpPlacement {
  /// Distinct maps spine dims -> result index; null: data-dependent. For stages
  /// exactly one, equal to RegionStage::result. Empty in a Stencil, whose ops
  /// have boxes instead.
  llvm::SmallVector<mlir::AffineMap, 1> reads;
  /// Stages that must be complete before: 0 none, k: levels below k.
  unsigned level = 0;
  /// No read uses a reduced dim: one value per row.
  bool isUniform = false;
  /// Needs a result of RegionForm::columns.
  bool isColumn = false;
  /// Stencil only: the box of the result that a spine tile needs; empty for ops
  /// that no output needs.
  llvm::SmallVector<TileExtent> box = {};
};

/// The shape of a legal kernel.
struct RegionForm {
  KernelKind kind = KernelKind::Pointwise;
  /// Sizes of the spine's dims: parallel ones first. May be kDynamic.
  llvm::SmallVector<int64_t> parallel, reduced;
  /// The ops in an order where producers come first; constants included.
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<RegionOutput> outputs;
  /// Reductions (Row), windows (Stencil) or the hero (Contraction), with a
  /// second product beside it, in order.
  llvm::SmallVector<RegionStage> stages;
  /// Row only: reductions over the parallel axes. Parallel loops are reduced
  /// spine dims, and the converse.
  llvm::SmallVector<RegionStage> columns;
  /// Contraction only: reductions of epilogue values over all parallel dims of
  /// one operand's own. Their loops are functions of parallel dims. All that is
  /// stored for each element is contiguous along the columns.
  llvm::SmallVector<RegionStage> statistics;
  /// How each op is evaluated; stages included, constants not.
  llvm::DenseMap<mlir::Operation *, OpPlacement> placements;
  /// Stencil: the tile per spine dim that the halo bound was checked with, the
  /// points computed over all stages relative to no overlap, and the shared
  /// memory of the staged boxes.
  llvm::SmallVector<int64_t> tile;
  double haloRatio = 1;
  int64_t sharedBytes = 0;
  /// Stencil: a Row region of what the windows made, or nothing. Its spine is
  /// this one's with the last dim reduced, and it reads `handed`, values of
  /// this region, at its own points. All but `ops`, `outputs` and `placements`
  /// is then as if `handed` were stored.
  std::vector<RegionForm> behind;
  llvm::SmallVector<mlir::Value> handed;
  /// Multi and Chain only.
  std::vector<RegionForm> parts;

  /// Parallel sizes followed by reduced sizes.
  llvm::SmallVector<int64_t> spine() const;
  /// The contraction of a Contraction region.
  mlir::Operation *hero() const {
    return kind == KernelKind::Contraction ? stages.front().op : nullptr;
  }
  /// The other product of a pair (`mayPair`): of the same operand, with the
  /// same loops, and for the same one output. Null if there is none.
  mlir::Operation *second() const {
    return kind == KernelKind::Contraction && stages.size() > 1
               ? stages.back().op
               : nullptr;
  }
};

/// A region or the reason why there is none.
class RegionVerdict {
public:
  RegionVerdict(RegionForm form)
      : value(std::make_unique<RegionForm>(std::move(form))) {}
  RegionVerdict(Refusal refusal) : value(std::move(refusal)) {}

  explicit operator bool() const {
    return std::holds_alternative<std::unique_ptr<RegionForm>>(value);
  }
  RegionForm &operator*() { return *std::get<0>(value); }
  RegionForm *operator->() { return std::get<0>(value).get(); }
  const Refusal &refusal() const { return std::get<Refusal>(value); }

private:
  std::variant<std::unique_ptr<RegionForm>, Refusal> value;
};

/// Limits of a legal region; the same in planner and lowering.
struct RegionLimits {
  /// Largest computed/needed ratio of a stencil's tiles.
  double maxHaloRatio = 2.0;
  /// Bytes of staged boxes: the static shared memory of a block.
  int64_t sharedBytes = 48 * 1024;
  /// Most distinct indices at which one op is evaluated: a 5 x 5 stencil spelt
  /// with slices has 25. Whether that many pay is the cost model's to say.
  unsigned maxReads = 32;
  /// Whether a contraction may have `statistics`.
  bool statistics = true;
  /// Whether two contractions may be a pair: tiles of sm_90's loop can have
  /// columns of both.
  bool pairs = true;
};

/// The shape of the kernel that computes `outputs` (results of `ops`) from
/// values made outside of `ops`. `ops` are distinct ops of one block in any
/// order; constants among them are values, not loops. Results of `ops` that are
/// used elsewhere must be in `outputs`. Time is linear in `ops` and their
/// operands. `facts` caches what ops say about themselves.
RegionVerdict analyzeRegion(FactTable &facts,
                            llvm::ArrayRef<mlir::Operation *> ops,
                            llvm::ArrayRef<mlir::Value> outputs,
                            const RegionLimits &limits = {});

/// Equal pieces that a concatenation along the last dim joins, of a Pointwise
/// region that stores at the spine's points; 1 for none. Dims ahead of the last
/// may lie in another order than the spine's. A thread then makes the same
/// element of every piece: what they read in common is read once, and no
/// element is chosen from several.
int64_t countPieces(const RegionForm &form);

/// The shape of the kernel in a `graph.fusion`; one with parts is Multi or
/// Chain, its `parts` in the order of FusionOp::getParts.
RegionVerdict analyzeFusion(FactTable &facts, graph::FusionOp fusion,
                            const RegionLimits &limits = {});

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_REGIONSHAPE_H
