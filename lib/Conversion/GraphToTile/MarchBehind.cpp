//===- MarchBehind.cpp - rows of what a march made ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a march lanes run along the channels of an image, so that a reduction over
// these would take five shuffles an element. Instead a block, which holds all
// channels of its strip, hands the results of a few rows on:
//
//   results of the windows -> shared memory, a point's channels together
//   barrier
//   a few lanes a point: channels -> reductions -> outputs, as rows are
//   barrier
//
// The second part is the persistent form of the row schedule. Its rows are the
// points of the strip, counted along the columns first.
//===----------------------------------------------------------------------===//
#include "MarchSchedule.h"
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

// Lanes of a point: few, as each level of shuffles counts for all channels of a
// lane, and eight vectors of four are a line of memory. Vectors of a lane.
static constexpr int64_t kLeastLanes = 8, kMostVectors = 4;

namespace {
class BehindRows : public RowSchedule {
public:
  BehindRows(KernelBuilder &kb, const analysis::RegionForm &form,
             const analysis::RowTiling &tiling, const MarchedRows &marched)
      : RowSchedule(kb, form, tiling), marched(marched) {}
  void run();

protected:
  Value firstRow() override { return first; }
  void boundRows(Value linear) override {
    kb.emitter.setBounds(linear, {0, passes() * tiling.rows() - 1});
  }
  Value rowsInside(RankedTensorType carrier, Value linear) override;
  SmallVector<Value> parallelAt(Value linear) override;

private:
  int64_t points() const { return marched.rows * marched.columns; }
  int64_t passes() const {
    return llvm::divideCeil(points(), uint64_t(tiling.rows()));
  }
  Value handed(Value value);

  const MarchedRows &marched;
  Value first; // point of the pass
};
} // namespace

SmallVector<Value> BehindRows::parallelAt(Value linear) {
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> spine;
  for (auto [dim, start] : llvm::enumerate(marched.start)) {
    Value at =
        tile::SplatOp::create(kb.builder, kb.loc, linear.getType(), start);
    if (dim == marched.row)
      at = eb.addIndex(at, eb.divIndex(linear, marched.columns));
    else if (dim == marched.column)
      at = eb.addIndex(at, eb.remIndex(linear, marched.columns));
    spine.push_back(at);
  }
  return spine;
}

Value BehindRows::rowsInside(RankedTensorType carrier, Value linear) {
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> spine = parallelAt(linear);
  Value mask = kb.below(carrier, spine[marched.row], marched.endRow);
  if (form.parallel[marched.column] % marched.columns)
    mask =
        eb.logicalAnd(mask, kb.below(carrier, spine[marched.column],
                                     kb.index(form.parallel[marched.column])));
  if (points() % tiling.rows())
    mask = eb.logicalAnd(mask, kb.below(carrier, linear, kb.index(points())));
  return mask;
}

/// The tile of a value that the march handed on; null for others.
Value BehindRows::handed(Value value) {
  const HandedValue *known = llvm::find_if(
      marched.values, [&](const HandedValue &v) { return v.value == value; });
  if (known == marched.values.end() || inRowCarrier)
    return {};
  graph::ElementBuilder eb = kb.emitter.elements();
  auto buffer = cast<MemRefType>(known->buffer.getType());
  Type element = buffer.getElementType();
  Value point = kb.axisTile(full, 0, rowStart);
  // Every point has been handed on. Without a mask loads have vectors.
  if (points() % tiling.rows())
    point = eb.make<arith::MinUIOp>(point, eb.index(points() - 1));
  Value at = eb.addIndex(eb.mulIndex(point, marched.pitch),
                         kb.axisTile(full, 1, kb.index(0)));
  return tile::LoadOp::create(kb.builder, kb.loc, eb.type(element),
                              known->buffer, at, columnMask,
                              columnMask ? eb.zero(element) : Value(),
                              /*vector=*/1);
}

void BehindRows::run() {
  OpBuilder::InsertionGuard guard(kb.builder);
  markQuotients();
  auto loop = scf::ForOp::create(kb.builder, kb.loc, kb.index(0),
                                 kb.index(passes()), kb.index(1));
  kb.enterBody(loop);
  first = kb.mulIndex(loop.getInductionVar(), tiling.rows());
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  kb.emitter.staged = [this](Value value, ValueRange index) {
    Value known = lookup(value, index);
    return known ? known : handed(value);
  };
  kb.emitter.stagedMasked = nullptr;
  enterColumns(kb.index(0));
  reduceLevels();
  SmallVector<Value> values = fullValues();
  storeUniform();
  storeFull(values);
  scf::YieldOp::create(kb.builder, kb.loc);
}

/// Who holds points of `channels` in a block of `warps`.
static analysis::RowTiling tilingOf(int64_t channels, int64_t warps) {
  analysis::RowTiling tiling;
  while (tiling.vector < 4 && channels % (2 * tiling.vector) == 0)
    tiling.vector *= 2;
  tiling.lanes = kLeastLanes;
  while (tiling.lanes < 32 &&
         channels > kMostVectors * tiling.vector * tiling.lanes)
    tiling.lanes *= 2;
  tiling.repeats =
      llvm::divideCeil(channels, uint64_t(tiling.vector * tiling.lanes));
  tiling.rowWarps = warps;
  return tiling;
}

void graph_to_tile::emitBehind(KernelBuilder &kb,
                               const analysis::RegionForm &form, int64_t warps,
                               const MarchedRows &marched) {
  auto staged = kb.emitter.staged;
  auto stagedMasked = kb.emitter.stagedMasked;
  tile::BarrierOp::create(kb.builder, kb.loc);
  analysis::RowTiling tiling =
      tilingOf(KernelBuilder::product(form.reduced), warps);
  BehindRows(kb, form, tiling, marched).run();
  tile::BarrierOp::create(kb.builder, kb.loc);
  kb.emitter.staged = staged;
  kb.emitter.stagedMasked = stagedMasked;
  kb.emitter.setMask({});
}
