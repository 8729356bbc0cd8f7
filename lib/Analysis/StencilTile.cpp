//===- StencilTile.cpp - the tile of a stencil kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/StencilTile.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Static shared memory of a block: CUDA's limit without opting in is 48 KiB,
// and arrays are aligned to 128 bytes.
static constexpr int64_t kSharedBytes = 47 * 1024;
// Rows of a strip: outputs that share window rows. 8 rows of a 3x3 window read
// 10 rows instead of 24.
static constexpr int64_t kStrip = 8;
// Extended edge of a tile along the lanes: two warps wide.
static constexpr int64_t kEdge = 64;
// Edge of sliding axes that are not innermost (channels-last images).
static constexpr int64_t kOuterEdge = 8;
// Points of a tile or box that a thread holds.
static constexpr int64_t kMaxRegisters = 32;

// Blocks that fill an H200 once: two a multiprocessor.
static constexpr int64_t kBusyBlocks = 2 * 132;
// What starting and ending a block costs its multiprocessor, in window points.
static constexpr double kBlockWork = 2048;
// A smaller tile must save this much of the load of a multiprocessor, and may
// repeat this much of the work of the largest.
static constexpr double kGain = 0.9, kMaxRepeat = 1.6;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

StencilThreads analysis::stencilThreads(ArrayRef<int64_t> sizes) {
  StencilThreads result;
  int64_t inner = sizes.empty() ? 1 : std::max<int64_t>(1, sizes.back());
  int64_t outer =
      sizes.empty() ? 1 : std::max<int64_t>(1, product(sizes.drop_back()));
  int64_t groups = llvm::divideCeil(inner, 32);
  result.innerWarps =
      std::min<int64_t>(kStencilWarps, llvm::bit_floor(uint64_t(groups)));
  result.innerRepeats = llvm::divideCeil(groups, result.innerWarps);
  result.outerWarps = kStencilWarps / result.innerWarps;
  result.strip = std::min<int64_t>(
      kStrip, llvm::PowerOf2Ceil(llvm::divideCeil(outer, result.outerWarps)));
  result.outerRepeats =
      llvm::divideCeil(outer, result.strip * result.outerWarps);
  return result;
}

SmallVector<int64_t> StagedValue::sizes(ArrayRef<int64_t> tile) const {
  SmallVector<int64_t> result;
  for (const TileExtent &extent : box)
    result.push_back(extent.extent(extent.dim ? tile[*extent.dim] : 1));
  return result;
}

int64_t StagedValue::bytes(ArrayRef<int64_t> tile) const {
  StencilThreads threads = stencilThreads(sizes(tile));
  int64_t points = threads.rows() * threads.columns() +
                   kStencilReach * (threads.columns() + 1);
  Type compute = graph::ElementBuilder::computeType(
      cast<RankedTensorType>(value.getType()).getElementType());
  return points * llvm::divideCeil(compute.getIntOrFloatBitWidth(), 8);
}

SmallVector<StagedValue> analysis::stagedValues(const RegionForm &form) {
  SmallVector<StagedValue> result;
  llvm::SmallDenseSet<Value> seen;
  for (Operation *op : form.ops) {
    auto fusible = dyn_cast<graph::FusibleOpInterface>(op);
    if (!fusible || fusible.getFusionRole() != graph::FusionRole::window)
      continue;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || isa<graph::ConstantOp>(producer))
        continue;
      auto placed = form.placements.find(producer);
      if (placed == form.placements.end())
        continue;
      // A window over a scalar reads it once: there is nothing to share.
      bool isScalar = cast<RankedTensorType>(operand.getType()).getRank() == 0;
      if (!isScalar && seen.insert(operand).second)
        result.push_back({operand, placed->second.box});
    }
  }
  return result;
}

namespace {

class TileChooser {
public:
  TileChooser(const RegionForm &form, ArrayRef<StagedValue> staged)
      : form(form), staged(staged) {}
  std::optional<SmallVector<int64_t>> choose();

private:
  llvm::SmallBitVector wholeAxes() const;
  llvm::SmallBitVector slidingAxes() const;
  int64_t boxEdge(unsigned dim) const;
  void growTile(unsigned dim, int64_t edge);
  bool fits() const;
  double workOfBlock() const;
  int64_t blockCount() const;
  bool setTile(int64_t edge, const llvm::SmallBitVector &whole,
               const llvm::SmallBitVector &slides);

  const RegionForm &form;
  ArrayRef<StagedValue> staged;
  SmallVector<int64_t> tile;
};

} // namespace

/// Axes that a tile must cover whole: some staged value does not depend on
/// them, so every tile along such an axis would make it again (the output
/// channels of a 1x1 convolution after a depthwise one).
llvm::SmallBitVector TileChooser::wholeAxes() const {
  llvm::SmallBitVector whole(form.parallel.size());
  for (const StagedValue &value : staged)
    for (unsigned dim = 0; dim < whole.size(); ++dim)
      if (form.parallel[dim] > 1 &&
          llvm::none_of(value.box,
                        [&](const TileExtent &e) { return e.dim == dim; }))
        whole.set(dim);
  return whole;
}

llvm::SmallBitVector TileChooser::slidingAxes() const {
  unsigned rank = form.parallel.size();
  llvm::SmallBitVector slides(rank);
  for (const StagedValue &value : staged)
    for (const TileExtent &extent : value.box)
      if (extent.dim && (extent.scale != 1 || extent.low != extent.high))
        slides.set(*extent.dim);
  if (slides.none()) // windows over buffers only
    slides.set(rank < 2 ? 0 : rank - 2, rank);
  return slides;
}

int64_t TileChooser::boxEdge(unsigned dim) const {
  int64_t edge = tile[dim];
  for (const StagedValue &value : staged)
    for (const TileExtent &extent : value.box)
      if (extent.dim == dim)
        edge = std::max(edge, extent.extent(tile[dim]));
  return edge;
}

/// Sets the largest tile of `dim` whose extended edge is at most `edge`.
void TileChooser::growTile(unsigned dim, int64_t edge) {
  tile[dim] = 1;
  while (tile[dim] < form.parallel[dim] && boxEdge(dim) <= edge)
    ++tile[dim];
  if (tile[dim] > 1 && boxEdge(dim) > edge)
    --tile[dim];
}

bool TileChooser::fits() const {
  auto points = [](ArrayRef<int64_t> sizes) {
    StencilThreads threads = stencilThreads(sizes);
    return threads.rows() * threads.columns();
  };
  int64_t most = points(tile), bytes = 0;
  for (const StagedValue &value : staged) {
    most = std::max(most, points(value.sizes(tile)));
    bytes += value.bytes(tile);
  }
  return most <= kMaxRegisters * 32 * kStencilWarps && bytes <= kSharedBytes;
}

/// Window points that a block computes, halo and idle lanes included.
double TileChooser::workOfBlock() const {
  double work = kBlockWork;
  for (const RegionStage &stage : form.stages) {
    auto op = cast<graph::FusibleOpInterface>(stage.op);
    SmallVector<int64_t> sizes;
    for (const TileExtent &extent : stage.box)
      sizes.push_back(extent.extent(extent.dim ? tile[*extent.dim] : 1));
    StencilThreads threads = stencilThreads(sizes);
    double points = double(threads.rows() * threads.columns());
    for (int64_t size : op.getIterationSpace().reduced)
      points *= size;
    work += points;
  }
  return work;
}

int64_t TileChooser::blockCount() const {
  int64_t blocks = 1;
  for (auto [points, size] : llvm::zip(tile, form.parallel))
    blocks *= llvm::divideCeil(size, points);
  return blocks;
}

/// Sets `tile` for extended edges of at most `edge`; false if it does not fit.
bool TileChooser::setTile(int64_t edge, const llvm::SmallBitVector &whole,
                          const llvm::SmallBitVector &slides) {
  unsigned rank = form.parallel.size(), last = rank - 1;
  tile.assign(rank, 1);
  for (unsigned dim = 0; dim < rank; ++dim)
    if (whole.test(dim))
      tile[dim] = form.parallel[dim];
    else if (dim == last) // a warp wide at least
      growTile(dim, slides.test(dim) ? std::max<int64_t>(edge, 32) : 32);
    else if (slides.test(dim))
      growTile(dim, slides.test(last) ? edge : std::min(edge, kOuterEdge));
  if (!fits())
    return false;
  // Equal tiles instead of a small last one: fewer tiles touch a border.
  for (auto [points, size] : llvm::zip(tile, form.parallel))
    if (size > 0)
      points = llvm::divideCeil(size, llvm::divideCeil(size, points));
  return true;
}

/// Large tiles repeat less of their halo, small ones fill the machine: the
/// tile with the least work of a multiprocessor, the largest of equal ones.
std::optional<SmallVector<int64_t>> TileChooser::choose() {
  llvm::SmallBitVector whole = wholeAxes(), slides = slidingAxes();
  std::optional<SmallVector<int64_t>> best;
  double least = 0, leastTotal = 0;
  for (int64_t edge = kEdge; edge >= 1; edge /= 2) {
    if (!setTile(edge, whole, slides))
      continue;
    double work = workOfBlock(), total = work * double(blockCount());
    double load = work * double(llvm::divideCeil(blockCount(), kBusyBlocks));
    if (best && (load >= kGain * least || total > kMaxRepeat * leastTotal))
      continue;
    if (!best)
      leastTotal = total;
    best = tile;
    least = load;
  }
  return best;
}

std::optional<SmallVector<int64_t>>
analysis::chooseStencilTile(const RegionForm &form,
                            ArrayRef<StagedValue> staged) {
  if (form.parallel.empty())
    return SmallVector<int64_t>();
  return TileChooser(form, staged).choose();
}
