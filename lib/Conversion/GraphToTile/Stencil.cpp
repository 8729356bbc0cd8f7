//===- Stencil.cpp - windows over staged tiles ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block makes one tile of the outputs. What a window reads of another op of
// the region is staged: the block computes the box that its tile needs, halo
// included, once into shared memory, and the window reads it there. Everything
// else is pulled at the place of use.
//
//   for each staged value in order: box -> shared memory; barrier
//   tile of every output -> global memory
//
// Most tiles lie so far from every border that no window reads padding. For
// them the block runs a second version of the program, made by the same code
// under narrower bounds of the tile's start, in which the masks are proven and
// gone. Threads beyond a box compute values that nobody uses there: their
// memory is part of the buffer, and defined.
//
// Lanes run along the innermost axis. A thread holds strips of rows, so that
// after unrolling neighbouring outputs share the rows that they both read.
//===----------------------------------------------------------------------===//
#include "March.h"
#include "ScheduleOffer.h"
#include "fusec/Analysis/StencilTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using analysis::TileExtent;
using tile::Digit;

// How far from a border a tile counts as inner, in points of the output; masks
// that this does not prove stay.
static constexpr int64_t kMargin = 8;
static constexpr int64_t kWarps = analysis::kStencilWarps;
static constexpr int64_t kReach = analysis::kStencilReach;

namespace {

/// A value in shared memory.
struct Staged : analysis::StagedValue {
  /// Sizes of the box for the chosen tile and of its memory, its first index,
  /// its memory.
  SmallVector<int64_t> extents, padded;
  SmallVector<Value> start;
  Value buffer;
};

/// Builds the kernel of a Stencil region: a block computes one tile of the
/// output; each value that a window reads is made in order, tile and halo, in
/// shared memory, with a barrier behind it; the outputs come last. Tiles that
/// touch no border may run a second version of the code without masks.
class StencilSchedule {
public:
  explicit StencilSchedule(KernelBuilder &kb) : kb(kb), form(kb.form) {}
  LogicalResult run();

private:
  RankedTensorType carrierFor(ArrayRef<int64_t> sizes);
  /// Index tiles of a box that starts at `start`; sets carrier and mask.
  SmallVector<Value> enter(ArrayRef<int64_t> sizes, ArrayRef<Value> start,
                           ArrayRef<int64_t> bounds);
  Value sharedOffset(const Staged &staged, ValueRange index);
  Value lookup(Value value, ValueRange index);
  void allocate(Staged &staged);
  void clearReach(const Staged &staged);
  Value onlyRow(ArrayRef<int64_t> sizes);
  void makeStaged(const Staged &staged);
  void storeOutputs();
  void runTile();
  Value isInner();

  KernelBuilder &kb;
  const analysis::RegionForm &form;
  SmallVector<int64_t> tile, counts;
  SmallVector<Value> tileStart;
  SmallVector<Staged, 4> values;
  unsigned ready = 0; // values[0, ready) are in shared memory
  bool inner = false; // the version without borders
};

} // namespace

RankedTensorType StencilSchedule::carrierFor(ArrayRef<int64_t> sizes) {
  analysis::StencilThreads t = analysis::stencilThreads(sizes);
  auto layout = tile::LayoutAttr::get(
      kb.builder.getContext(),
      {Digit{t.strip, 1, 0}, Digit{t.innerRepeats, 32 * t.innerWarps, 1},
       Digit{t.outerRepeats, t.strip * t.outerWarps, 0}},
      {Digit{32, 1, 1}},
      {Digit{t.innerWarps, 32, 1}, Digit{t.outerWarps, t.strip, 0}});
  return kb.carrierType({t.rows(), t.columns()}, layout);
}

SmallVector<Value> StencilSchedule::enter(ArrayRef<int64_t> sizes,
                                          ArrayRef<Value> start,
                                          ArrayRef<int64_t> bounds) {
  RankedTensorType carrier = carrierFor(sizes);
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  int64_t outer = KernelBuilder::product(sizes.drop_back());
  Value row = kb.axisTile(carrier, 0, kb.index(0));
  Value column = kb.axisTile(carrier, 1, kb.index(0));
  // Axes of one point have no coordinate of their own.
  SmallVector<int64_t> longSizes;
  for (int64_t size : sizes.drop_back())
    if (size != 1)
      longSizes.push_back(size);
  SmallVector<Value> rows = longSizes.size() == 1
                                ? SmallVector<Value>{row}
                                : eb.delinearize(row, longSizes);
  Value mask;
  auto restrict = [&](Value condition) {
    if (!kb.emitter.isProven(condition))
      mask = mask ? eb.logicalAnd(mask, condition) : condition;
  };
  if (outer != carrier.getDimSize(0))
    restrict(kb.below(carrier, row, kb.index(outer)));
  if (sizes.back() != carrier.getDimSize(1))
    restrict(kb.below(carrier, column, kb.index(sizes.back())));
  SmallVector<Value> index;
  ArrayRef<Value> nextRow(rows);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Value base = tile::SplatOp::create(
        kb.builder, kb.loc, eb.type(kb.builder.getIndexType()), start[i]);
    if (i + 1 == sizes.size())
      base = eb.addIndex(base, column);
    else if (size != 1) {
      base = eb.addIndex(base, nextRow.front());
      nextRow = nextRow.drop_front();
    }
    index.push_back(base);
    restrict(eb.inRange(base, bounds[i]));
  }
  kb.emitter.setMask(mask);
  return index;
}

Value StencilSchedule::sharedOffset(const Staged &staged, ValueRange index) {
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> local;
  for (auto [at, start] : llvm::zip(index, staged.start)) {
    Value base = tile::SplatOp::create(
        kb.builder, kb.loc, eb.type(kb.builder.getIndexType()), start);
    local.push_back(eb.make<arith::SubIOp>(at, base));
  }
  return kb.emitter.offset(local, staged.padded);
}

Value StencilSchedule::lookup(Value value, ValueRange index) {
  for (const Staged &staged : ArrayRef(values).take_front(ready)) {
    if (staged.value != value)
      continue;
    graph::ElementBuilder eb = kb.emitter.elements();
    auto buffer = cast<MemRefType>(staged.buffer.getType());
    Type element = buffer.getElementType();
    Value at = sharedOffset(staged, index);
    auto known = kb.emitter.bounds(at);
    // Near a border the box is not written as a whole.
    bool isInside = inner && known && known->low >= 0 &&
                    known->high < buffer.getNumElements();
    Value mask = isInside ? Value() : kb.emitter.getMask();
    Value other = mask ? eb.zero(element) : Value();
    return tile::LoadOp::create(kb.builder, kb.loc, eb.type(element),
                                staged.buffer, at, mask, other, /*vector=*/1);
  }
  return {};
}

void StencilSchedule::allocate(Staged &staged) {
  auto type = cast<RankedTensorType>(staged.value.getType());
  Type compute = graph::ElementBuilder::computeType(type.getElementType());
  staged.extents = staged.sizes(tile);
  for (const TileExtent &extent : staged.box) {
    Value from = extent.dim ? kb.mulIndex(tileStart[*extent.dim], extent.scale)
                            : kb.index(0);
    staged.start.push_back(kb.addIndex(from, kb.index(extent.low)));
  }
  // Room for every thread's element, and for what threads beyond the box read.
  RankedTensorType carrier = carrierFor(staged.extents);
  staged.padded = staged.extents;
  staged.padded.back() = carrier.getDimSize(1);
  int64_t outer = KernelBuilder::product(ArrayRef(staged.extents).drop_back());
  int64_t extraRows = carrier.getDimSize(0) - outer + kReach;
  int64_t elements = KernelBuilder::product(staged.padded) +
                     extraRows * staged.padded.back() + kReach;
  staged.buffer = tile::AllocOp::create(
      kb.builder, kb.loc,
      MemRefType::get({elements}, compute, MemRefLayoutAttrInterface(),
                      kb.builder.getI64IntegerAttr(tile::kSharedSpace)));
}

/// Whether a point of a box of `sizes` has a row coordinate: without one, all
/// rows of threads have the addresses of the first.
static bool hasRows(ArrayRef<int64_t> sizes) {
  return llvm::any_of(sizes.drop_back(),
                      [](int64_t size) { return size != 1; });
}

/// Zeroes the part of the buffer behind the elements that threads store.
void StencilSchedule::clearReach(const Staged &staged) {
  RankedTensorType elements = carrierFor(staged.extents);
  int64_t first = hasRows(staged.extents) ? elements.getNumElements()
                                          : elements.getDimSize(1);
  int64_t end = cast<MemRefType>(staged.buffer.getType()).getNumElements();
  int64_t repeats = llvm::divideCeil(end - first, 32 * kWarps);
  auto layout = tile::LayoutAttr::get(
      kb.builder.getContext(), {Digit{repeats, 32 * kWarps, 0}},
      {Digit{32, 1, 0}}, {Digit{kWarps, 32, 0}});
  RankedTensorType carrier = kb.carrierType({repeats * 32 * kWarps}, layout);
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value at = kb.axisTile(carrier, 0, kb.index(first));
  Type element = cast<MemRefType>(staged.buffer.getType()).getElementType();
  tile::StoreOp::create(kb.builder, kb.loc, eb.zero(element), staged.buffer, at,
                        kb.below(carrier, at, kb.index(end)), /*vector=*/1);
}

/// The threads of the first row if a box of `sizes` has no other; null if rows
/// of threads differ in their addresses.
Value StencilSchedule::onlyRow(ArrayRef<int64_t> sizes) {
  if (hasRows(sizes))
    return {};
  Value row = kb.axisTile(carrierFor(sizes), 0, kb.index(0));
  return kb.below(carrierFor(sizes), row, kb.index(1));
}

void StencilSchedule::makeStaged(const Staged &staged) {
  auto type = cast<RankedTensorType>(staged.value.getType());
  clearReach(staged);
  SmallVector<Value> index =
      enter(staged.extents, staged.start, type.getShape());
  Value value = kb.emitter.emit(staged.value, index);
  // Inner threads beyond the box store too: others may read there.
  Value at = sharedOffset(staged, index);
  auto known = kb.emitter.bounds(at);
  bool isInside =
      inner && known && known->low >= 0 &&
      known->high < cast<MemRefType>(staged.buffer.getType()).getNumElements();
  Value mask = isInside ? onlyRow(staged.extents) : kb.emitter.getMask();
  tile::StoreOp::create(kb.builder, kb.loc, value, staged.buffer, at, mask,
                        /*vector=*/1);
  tile::BarrierOp::create(kb.builder, kb.loc);
}

void StencilSchedule::storeOutputs() {
  SmallVector<Value> spine = enter(tile, tileStart, form.parallel);
  graph::ElementBuilder eb = kb.emitter.elements();
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    SmallVector<Value> index = eb.apply(output.index, spine);
    kb.emitter.store(kb.emitter.emit(output.value, index), kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     kb.emitter.getMask());
  }
}

/// Swaps two perfectly nested loops of constant bounds, so that the rows of a
/// window are walked innermost: neighbouring outputs of a strip then share what
/// the loop reads. The order of a sum changes, but not from run to run.
static void interchange(scf::ForOp outer) {
  Operation *terminator = outer.getBody()->getTerminator();
  auto inner = dyn_cast_or_null<scf::ForOp>(terminator->getPrevNode());
  if (!inner || inner->getNumResults() != outer->getNumResults() ||
      !llvm::equal(inner.getInitArgs(), outer.getRegionIterArgs()) ||
      !llvm::equal(terminator->getOperands(), inner->getResults()))
    return;
  for (Value bound :
       {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
    if (!bound.getDefiningOp<arith::ConstantOp>())
      return;
  SmallVector<Operation *> between;
  for (Operation &op : outer.getBody()->without_terminator())
    if (&op != inner && !isa<arith::ConstantOp>(op))
      between.push_back(&op);
  if (!llvm::all_of(between, [](Operation *op) { return isPure(op); }))
    return;
  Operation *first = &inner.getBody()->front();
  for (Operation *op : between)
    op->moveBefore(first);
  for (Value bound :
       {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
    bound.getDefiningOp()->moveBefore(outer);
  for (unsigned i = 0; i < 3; ++i) { // lower bound, upper bound, step
    Value bound = outer->getOperand(i);
    outer->setOperand(i, inner->getOperand(i));
    inner->setOperand(i, bound);
  }
  Value outerIndex = outer.getInductionVar();
  Value innerIndex = inner.getInductionVar();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : outerIndex.getUses())
    uses.push_back(&use);
  SmallVector<OpOperand *> innerUses;
  for (OpOperand &use : innerIndex.getUses())
    innerUses.push_back(&use);
  for (OpOperand *use : uses)
    use->set(innerIndex);
  for (OpOperand *use : innerUses)
    use->set(outerIndex);
}

/// Interchanges the two innermost loops of every window.
static void walkRowsInnermost(tile::KernelOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (auto outer = dyn_cast<scf::ForOp>(loop->getParentOp());
        outer && loop.getBody()->getOps<scf::ForOp>().empty())
      loops.push_back(outer);
  });
  for (scf::ForOp loop : loops)
    interchange(loop);
}

void StencilSchedule::runTile() {
  ready = 0;
  for (const Staged &staged : values) {
    makeStaged(staged);
    ++ready;
  }
  storeOutputs();
}

/// The condition that the tile is an inner one; null if few tiles are. Sets the
/// bounds of the tile's start that it implies.
Value StencilSchedule::isInner() {
  RankedTensorType carrier = carrierFor(tile);
  double share = 1;
  Value condition;
  unsigned longAxes = 0, last = tile.size() - 1;
  for (auto [dim, edge] : llvm::enumerate(tile)) {
    if (edge == 1)
      continue;
    longAxes += dim != last;
    int64_t extent = carrier.getDimSize(dim == last ? 1 : 0);
    int64_t low = llvm::divideCeil(kMargin, edge) * edge;
    int64_t high = form.parallel[dim] - extent - kMargin;
    if (counts[dim] == 1 || high < low)
      return {};
    share *= double(high - low) / double(form.parallel[dim]);
    for (auto [predicate, bound] :
         {std::pair(arith::CmpIPredicate::sge, low),
          std::pair(arith::CmpIPredicate::sle, high)}) {
      Value holds = arith::CmpIOp::create(kb.builder, kb.loc, predicate,
                                          tileStart[dim], kb.index(bound));
      condition = condition ? arith::AndIOp::create(kb.builder, kb.loc,
                                                    condition, holds)
                                  .getResult()
                            : holds;
    }
  }
  if (!condition || longAxes > 1 || share < 0.5)
    return {};
  for (auto [dim, edge] : llvm::enumerate(tile)) {
    if (edge == 1)
      continue;
    int64_t extent = carrier.getDimSize(dim == last ? 1 : 0);
    kb.emitter.setBounds(tileStart[dim],
                         {int64_t(llvm::divideCeil(kMargin, edge)) * edge,
                          form.parallel[dim] - extent - kMargin});
  }
  return condition;
}

LogicalResult StencilSchedule::run() {
  SmallVector<analysis::StagedValue> staged = analysis::stagedValues(form);
  std::optional<SmallVector<int64_t>> chosen = analysis::chooseStencilTile(
      kb.pattern, analysis::stagedValues(kb.pattern));
  if (!chosen)
    return kb.fusion.emitOpError(
        "has no tile whose halo fits in shared memory");
  tile = *chosen;
  for (analysis::StagedValue &value : staged)
    values.push_back({std::move(value), {}, {}, {}, {}});
  int64_t blocks = 1;
  for (auto [size, counted, edge] :
       llvm::zip(form.parallel, kb.counted.parallel, tile)) {
    counts.push_back(llvm::divideCeil(size, edge));
    blocks *= llvm::divideCeil(counted, edge);
  }
  kb.begin(32 * kWarps, {blocks, 1, 1}, {});
  graph::ElementBuilder scalars(kb.builder, kb.loc);
  SmallVector<Value> block = scalars.delinearize(kb.blockId(0), counts);
  auto setTileBounds = [&] {
    for (auto [start, edge, count] : llvm::zip(tileStart, tile, counts))
      kb.emitter.setBounds(start, {0, (count - 1) * edge});
  };
  for (auto [at, edge] : llvm::zip(block, tile))
    // A value of its own even where it equals the block's coordinate.
    tileStart.push_back(
        arith::MulIOp::create(kb.builder, kb.loc, at, kb.index(edge)));
  for (Staged &staged : values)
    allocate(staged);
  kb.emitter.staged = [this](Value value, ValueRange index) {
    return lookup(value, index);
  };
  setTileBounds();
  Value condition = isInner();
  if (!condition) {
    runTile();
    return success();
  }
  auto branch = scf::IfOp::create(kb.builder, kb.loc, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.setInsertionPoint(branch.thenYield());
  inner = true;
  runTile();
  inner = false;
  setTileBounds();
  kb.builder.setInsertionPoint(branch.elseYield());
  runTile();
  return success();
}

/// Takes the height that the chooser does; false for tiles in shared memory.
static bool chooseMarch(const KernelBuilder &kb, analysis::MarchForm &march) {
  SmallVector<int64_t> heights = analysis::marchHeights(kb.pattern, march);
  ScheduleOffer offer{"windows on " + sizesText(kb.pattern.parallel), {}};
  for (int64_t height : heights)
    offer.ways.push_back(
        {"strips of " + std::to_string(height) + " rows", "strips"});
  // Windows that are spelt with slices have no stages to put there, and rows
  // behind windows need a march.
  if (kb.options.chooser && !kb.pattern.stages.empty() &&
      kb.pattern.behind.empty() &&
      analysis::chooseStencilTile(kb.pattern,
                                  analysis::stagedValues(kb.pattern)))
    offer.ways.push_back({"tiles in shared memory", "tiles"});
  size_t chosen = choose(kb, offer);
  if (chosen == heights.size())
    return false;
  march.height = heights[chosen];
  return true;
}

FailureOr<tile::KernelOp> graph_to_tile::scheduleStencil(KernelBuilder &kb) {
  // Without sliding axes of a known size there is nothing to stage.
  if (kb.form.parallel.empty())
    return schedulePointwise(kb);
  if (std::optional<analysis::MarchForm> pattern =
          analysis::analyzeMarch(kb.pattern);
      pattern && chooseMarch(kb, *pattern)) {
    std::optional<analysis::MarchForm> march = analysis::analyzeMarch(kb.form);
    if (!march)
      return kb.fusion.emitOpError("does not march as its pattern does");
    return scheduleMarch(kb, analysis::withWidths(std::move(*march), *pattern));
  }
  if (failed(StencilSchedule(kb).run()))
    return failure();
  walkRowsInnermost(kb.kernel);
  return kb.kernel;
}
