//===- RegionBuilder.h - the steps of analyzeRegion -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Analysis. One builder serves one call:
//   1. sort the ops, classify them and choose the kind and the spine;
//   2. place outputs and stages on the spine (RegionPlacement.cpp);
//   3. collect the reads of every op from there and check that stages are read
//      where they are made (RegionReads.cpp; RegionStatistics.cpp for those of
//      a contraction's result, RegionPair.cpp for a second one beside it), or,
//      for a stencil, collect boxes and check the halo (RegionStencil.cpp).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_REGIONBUILDER_H
#define FUSEC_LIB_ANALYSIS_REGIONBUILDER_H

#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Analysis/RegionShape.h"

namespace fusec::analysis {

class RegionBuilder {
public:
  /// `leading`: the reduction whose loops are the spine; null: the longest.
  /// `shifts`: a region of inlined ops is a stencil whose windows are spelt
  /// with slices.
  RegionBuilder(FactTable &table, llvm::ArrayRef<mlir::Operation *> ops,
                llvm::ArrayRef<mlir::Value> outputs, const RegionLimits &limits,
                const OpFacts *leading = nullptr, bool shifts = false)
      : table(table), outputs(outputs), limits(limits), leading(leading),
        shifts(shifts) {
    form.ops.assign(ops.begin(), ops.end());
  }

  RegionVerdict run();
  /// After `run`: whether the ops' points may be shared by neighbours instead.
  bool mayShift(RegionVerdict &verdict) const;
  /// After `run`: a reduction across the one that led, which may lead instead;
  /// null if there is none.
  const OpFacts *crossing() const;

private:
  struct Use {
    const OpFacts *user;
    unsigned operand;
  };

  FactTable &table;
  llvm::ArrayRef<mlir::Value> outputs;
  const RegionLimits &limits;
  const OpFacts *leading;
  bool shifts;
  RegionForm form;
  std::optional<Refusal> refusal;

  llvm::SmallVector<const OpFacts *> facts; // of form.ops, null for constants
  llvm::DenseMap<mlir::Operation *, const OpFacts *> inside;
  llvm::SmallVector<int64_t> spine;
  unsigned numParallel = 0;
  const OpFacts *lead = nullptr;
  const OpFacts *second = nullptr; // the other product of a pair

  // Placement.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Use, 2>> uses;
  llvm::DenseMap<mlir::Value, mlir::AffineMap> placed;
  llvm::DenseMap<mlir::Operation *, mlir::AffineMap> stageLoops;
  llvm::SmallVector<mlir::Value> worklist;
  struct Partial {
    const OpFacts *user;
    llvm::SmallVector<mlir::AffineExpr> loops;
  };
  llvm::SmallVector<Partial> partials;
  llvm::DenseSet<mlir::Operation *> gathered;

  bool refuse(Refusal why) {
    if (!refusal)
      refusal = std::move(why);
    return false;
  }

  // 1.
  bool classify();
  void chooseSpine(const OpFacts *first);
  // 2.
  bool placeAll();
  void collectUses();
  void seed();
  void propagate();
  void placeValue(mlir::Value value, mlir::AffineMap map);
  void placeOp(const OpFacts *op, mlir::AffineMap loops);
  void placeForward(mlir::Value value, mlir::AffineMap map);
  void placeBackward(mlir::Value value, mlir::AffineMap map);
  bool guessPartial();
  bool guessStage();
  bool guessOutput();
  bool checkStages();
  mlir::AffineMap gatheredRows(mlir::Value value) const;
  bool collectOutputs();
  bool plainShortcut();
  mlir::AffineMap identity(unsigned numResults, unsigned first = 0);
  bool dynamicMatch(const OpFacts *op);
  // 3.
  bool collectReads();
  bool addRead(mlir::Value value, mlir::AffineMap map);
  bool readOperands(const OpFacts *op, llvm::ArrayRef<mlir::AffineMap> maps);
  const RegionStage *stageOf(mlir::Operation *op) const;
  bool checkStageRead(const OpFacts *op, mlir::AffineMap map);
  void assignLevels();
  bool checkColumns();
  bool checkStatistics();
  /// Statistics and outputs with the dims of operand `columns` as columns;
  /// false if that is not possible.
  bool placeStatistics(unsigned columns);
  /// Whether the second product may stand beside the first (RegionPair.cpp).
  bool checkPair();
  bool collectBoxes();
  bool checkMarch();
  template <typename Solver>
  double recomputation(const Solver &solver, llvm::ArrayRef<int64_t> tile);
};

/// The shape of a region of windows with a Row region behind them; `refusal` if
/// it is none.
RegionVerdict analyzeBehind(FactTable &table,
                            llvm::ArrayRef<mlir::Operation *> ops,
                            llvm::ArrayRef<mlir::Value> outputs,
                            const RegionLimits &limits, Refusal refusal);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_REGIONBUILDER_H
