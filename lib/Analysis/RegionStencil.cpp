//===- RegionStencil.cpp - boxes and halos of window chains ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Step 3 of analyzeRegion for regions with windows. Instead of single indices
// it propagates, from the outputs backwards, the box of each value that one
// tile of the spine needs, and joins the boxes of several uses. Then it looks
// for a tile whose staged boxes fit in shared memory and bounds the work that
// neighbouring tiles repeat.
//===----------------------------------------------------------------------===//
#include "BoxExtent.h"
#include "RegionBuilder.h"
#include "fusec/Analysis/StencilMarch.h"
#include "fusec/Analysis/StencilTile.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

using Box = SmallVector<TileExtent>;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Points of an axis of unknown size that the bound assumes.
static constexpr int64_t kAssumedSize = 256;

static int64_t assumed(int64_t size) {
  return ShapedType::isDynamic(size) ? kAssumedSize : size;
}

TileExtent analysis::wholeAxis(int64_t size) {
  return {std::nullopt, 0, 0, assumed(size) - 1};
}

TileExtent analysis::join(const TileExtent &a, const TileExtent &b,
                          int64_t size) {
  if (a.dim != b.dim || a.scale != b.scale)
    return wholeAxis(size);
  return {a.dim, a.scale, std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// A sum of constant * dim terms and a constant; nothing for other forms.
static std::optional<
    std::pair<SmallVector<std::pair<unsigned, int64_t>, 2>, int64_t>>
linearTerms(AffineExpr expr) {
  std::pair<SmallVector<std::pair<unsigned, int64_t>, 2>, int64_t> result{};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result.second = constant.getValue();
    return result;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    result.first.push_back({dim.getPosition(), 1});
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = linearTerms(binary.getLHS());
  if (!lhs)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    auto rhs = linearTerms(binary.getRHS());
    if (!rhs)
      return std::nullopt;
    llvm::append_range(lhs->first, rhs->first);
    lhs->second += rhs->second;
    return lhs;
  }
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !factor)
    return std::nullopt;
  for (auto &term : lhs->first)
    term.second *= factor.getValue();
  lhs->second *= factor.getValue();
  return lhs;
}

TileExtent analysis::extentOf(AffineExpr expr, ArrayRef<TileExtent> loops,
                              int64_t size) {
  auto linear = linearTerms(expr);
  if (!linear)
    return wholeAxis(size);
  TileExtent result{std::nullopt, 0, linear->second, linear->second};
  for (auto [loop, factor] : linear->first) {
    const TileExtent &part = loops[loop];
    if (part.dim) {
      if (result.dim || factor < 0)
        return wholeAxis(size);
      result.dim = part.dim;
      result.scale = part.scale * factor;
    }
    result.low += factor * (factor < 0 ? part.high : part.low);
    result.high += factor * (factor < 0 ? part.low : part.high);
  }
  // A range without a tile dim that leaves the axis reads padding there. One
  // point stays where all of it is padding: no box is empty.
  if (!result.dim) {
    int64_t last = std::max<int64_t>(assumed(size) - 1, 0);
    result.low = std::clamp<int64_t>(result.low, 0, last);
    result.high = std::clamp<int64_t>(result.high, result.low, last);
  }
  return result;
}

namespace {

/// Boxes of values and what a tile costs.
class BoxSolver {
public:
  BoxSolver(ArrayRef<const OpFacts *> facts,
            const llvm::DenseMap<Operation *, const OpFacts *> &inside)
      : facts(facts), inside(inside) {}

  void propagate(ArrayRef<RegionOutput> outputs);
  const Box *box(Operation *op) const {
    auto it = boxes.find(op);
    return it == boxes.end() ? nullptr : &it->second;
  }
  double points(Operation *op, ArrayRef<int64_t> tile) const;

private:
  ArrayRef<const OpFacts *> facts;
  const llvm::DenseMap<Operation *, const OpFacts *> &inside;
  llvm::DenseMap<Operation *, Box> boxes;

  void demand(Operation *op, Box box);
};

} // namespace

void BoxSolver::demand(Operation *op, Box box) {
  auto [it, isNew] = boxes.try_emplace(op, box);
  if (isNew)
    return;
  for (auto [i, extent] : llvm::enumerate(it->second))
    extent = join(extent, box[i], shapeOf(op->getResult(0))[i]);
}

void BoxSolver::propagate(ArrayRef<RegionOutput> outputs) {
  for (const RegionOutput &output : outputs) {
    Box box;
    for (auto [expr, size] :
         llvm::zip(output.index.getResults(), shapeOf(output.value))) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        box.push_back({dim.getPosition(), 1, 0, 0});
      else
        box.push_back(wholeAxis(size));
    }
    demand(output.value.getDefiningOp(), box);
  }
  for (const OpFacts *fact : llvm::reverse(facts)) {
    const Box *own = fact ? box(fact->op) : nullptr;
    if (!own)
      continue;
    Box loops(*own);
    for (int64_t size : fact->space.reduced)
      loops.push_back(wholeAxis(size));
    for (auto [operand, access] :
         llvm::zip(fact->op->getOperands(), fact->space.operands)) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || !inside.contains(producer))
        continue;
      ArrayRef<int64_t> shape = shapeOf(operand);
      Box read;
      for (auto [i, size] : llvm::enumerate(shape))
        read.push_back(access.map && !access.isIndirect
                           ? extentOf(access.map.getResult(i), loops, size)
                           : wholeAxis(size));
      demand(producer, read);
    }
  }
}

double BoxSolver::points(Operation *op, ArrayRef<int64_t> tile) const {
  double count = 1;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  for (auto [extent, size] : llvm::zip(*box(op), shape))
    count *= std::min(extent.extent(extent.dim ? tile[*extent.dim] : 1),
                      assumed(size));
  return count;
}

/// Points of `op`'s result that a tile needs if no neighbour repeated work: the
/// result's share of the tile.
static double fairPoints(Operation *op, ArrayRef<int64_t> tile,
                         ArrayRef<int64_t> spine) {
  double share = 1;
  for (auto [points, size] : llvm::zip(tile, spine))
    share *= size ? static_cast<double>(points) / assumed(size) : 1;
  double total = 1;
  for (int64_t size : shapeOf(op->getResult(0)))
    total *= assumed(size);
  return share * total;
}

/// Tile sizes: `edge` along the axes that windows slide along, all of the axes
/// that some stage does not have (output channels of a later stage: the earlier
/// one is computed once for all of them), 1 otherwise.
static SmallVector<int64_t> makeTile(ArrayRef<int64_t> spine,
                                     const llvm::SmallBitVector &slides,
                                     const llvm::SmallBitVector &shared,
                                     int64_t edge) {
  SmallVector<int64_t> tile(spine.size(), 1);
  for (auto [i, size] : llvm::enumerate(spine)) {
    if (slides.test(i))
      tile[i] = std::max<int64_t>(1, std::min(assumed(size), edge));
    else if (shared.test(i))
      tile[i] = std::max<int64_t>(1, assumed(size));
  }
  return tile;
}

/// Spine axes that some staged value before the last one does not depend on.
static llvm::SmallBitVector sharedAxes(ArrayRef<RegionStage> stages,
                                       unsigned rank) {
  llvm::SmallBitVector shared(rank);
  for (const RegionStage &stage : stages.drop_back(stages.empty() ? 0 : 1)) {
    llvm::SmallBitVector used(rank);
    for (const TileExtent &extent : stage.box)
      if (extent.dim)
        used.set(*extent.dim);
    shared |= used.flip();
  }
  return shared;
}

/// Work of all stages for one tile relative to its share of the work if no
/// neighbour repeated any.
template <typename Solver>
double RegionBuilder::recomputation(const Solver &solver,
                                    ArrayRef<int64_t> tile) {
  double computed = 0, fair = 0;
  for (const RegionStage &stage : form.stages) {
    double points = solver.points(stage.op, tile);
    double cost = inside.lookup(stage.op)->cost;
    if (std::optional<int64_t> reduced =
            numElements(inside.lookup(stage.op)->space.reduced))
      cost *= *reduced;
    computed += points * cost;
    fair += std::min(points, fairPoints(stage.op, tile, spine)) * cost;
  }
  return fair > 0 ? computed / fair : 1;
}

/// Windows that are spelt with slices march or are no stencil.
bool RegionBuilder::checkMarch() {
  std::optional<MarchForm> march = analyzeMarch(form);
  if (!march)
    return refuse({RefusalReason::RecomputeTooCostly, form.ops.front()});
  form.haloRatio = march->repeated();
  form.sharedBytes = 0;
  assignLevels();
  return true;
}

bool RegionBuilder::collectBoxes() {
  BoxSolver solver(facts, inside);
  solver.propagate(form.outputs);
  llvm::SmallBitVector slides(spine.size());
  Operation *widest = nullptr;
  for (const OpFacts *fact : facts) {
    if (!fact || fact->opClass != OpClass::Window)
      continue;
    const Box *box = solver.box(fact->op);
    if (!box)
      continue;
    form.stages.push_back({fact->op, {}, {}, 0, *box});
    widest = widest ? widest : fact->op;
    for (const TileExtent &extent : *box)
      if (extent.dim && (extent.scale != 1 || extent.low != extent.high))
        slides.set(*extent.dim);
  }
  // A lone window stages nothing; it just reads its neighbours.
  bool single = form.stages.size() == 1 && slides.none();
  if (slides.none())
    slides.set();
  llvm::SmallBitVector shared = sharedAxes(form.stages, spine.size());
  double bestRatio = 0;
  int64_t bestBytes = 0;
  for (int64_t edge : {128, 64, 32, 16, 8}) {
    SmallVector<int64_t> tile = makeTile(spine, slides, shared, edge);
    int64_t bytes = 0;
    for (const RegionStage &stage : form.stages)
      if (stage.op != form.stages.back().op) {
        auto type = cast<RankedTensorType>(stage.op->getResult(0).getType());
        bytes += static_cast<int64_t>(solver.points(stage.op, tile)) *
                 std::max<int64_t>(4, type.getElementTypeBitWidth() / 8);
      }
    double ratio = recomputation(solver, tile);
    if (bestRatio != 0 && bytes > limits.sharedBytes)
      continue;
    if (bestRatio == 0 || bestBytes > limits.sharedBytes || ratio < bestRatio) {
      form.tile = tile;
      bestRatio = ratio;
      bestBytes = bytes;
    }
  }
  for (const OpFacts *fact : facts) {
    if (!fact)
      continue;
    OpPlacement &placement = form.placements[fact->op];
    if (const Box *box = solver.box(fact->op))
      placement.box = *box;
  }
  if (shifts)
    return checkMarch();
  // With all sizes known, the tile that the generator will use decides.
  if (llvm::none_of(spine, ShapedType::isDynamic)) {
    SmallVector<StagedValue> staged = stagedValues(form);
    std::optional<SmallVector<int64_t>> tile = chooseStencilTile(form, staged);
    if (!tile)
      return refuse({RefusalReason::SharedMemoryTooSmall,
                     widest,
                     {},
                     {},
                     static_cast<double>(bestBytes)});
    form.tile = *tile;
    bestRatio = recomputation(solver, *tile);
    bestBytes = 0;
    for (const StagedValue &value : staged)
      bestBytes += value.bytes(*tile);
  } else if (bestBytes > limits.sharedBytes) {
    return refuse({RefusalReason::SharedMemoryTooSmall,
                   widest,
                   {},
                   {},
                   static_cast<double>(bestBytes)});
  }
  form.haloRatio = single ? 1 : bestRatio;
  form.sharedBytes = bestBytes;
  if (form.haloRatio > limits.maxHaloRatio)
    return refuse(
        {RefusalReason::HaloTooLarge, widest, {}, {}, form.haloRatio});
  assignLevels();
  return true;
}
