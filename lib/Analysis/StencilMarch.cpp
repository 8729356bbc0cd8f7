//===- StencilMarch.cpp - windows along a marching row --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/StencilMarch.h"
#include "BoxExtent.h"
#include "StencilShifts.h"
#include "fusec/Analysis/StencilTile.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Rows of a strip. Tall ones make filling the registers a small part, short
// ones give a small image to more warps.
static constexpr int64_t kHeights[] = {128, 64, 32, 16, 8, 4};
// Multiprocessors of an H200, the registers of one a lane, and those of a
// thread for what is not kept and at least.
static constexpr int64_t kMultiprocessors = 132, kLaneRegisters = 2048;
static constexpr int64_t kOtherRegisters = 16, kLeastRegisters = 64;
// Window points of all windows of a region, each written out.
static constexpr int64_t kMaxTaps = 96;
// Window points of one iteration of a thread. A loop of about 700 instructions
// stays in the instruction cache next to a scheduler; of longer ones half as
// many were issued in a cycle.
static constexpr int64_t kIterationTaps = 512;
// Registers of a thread for rows and weights.
static constexpr int64_t kMaxRegisters = 150;
// Columns of a thread whose lanes run along channels, without margins, and its
// registers for rows, rows to come and weights.
static constexpr int64_t kMaxColumns = 8, kMaxWideRegisters = 128;

// Warps that hold all channels of a strip, and the shared memory for what they
// hand on: what a block has without asking.
static constexpr int64_t kMaxWarps = 12, kHandedBytes = 46 * 1024;
// Rows that are handed on at a time.
static constexpr int64_t kMaxHandedRows = 8;

namespace {

class MarchAnalysis {
public:
  explicit MarchAnalysis(const RegionForm &form) : form(form) {}
  /// `channelsLast`: lanes along the last axis, windows along those before it.
  std::optional<MarchForm> run(bool channelsLast);

private:
  bool addWindows();
  bool addShifted();
  bool keepShifted(const ShiftedValue &shifted);
  bool addInputs(Operation *window);
  bool addInput(Value argument, ArrayRef<TileExtent> box);
  bool slides(AffineExpr expr, ArrayRef<TileExtent> loops) const;
  bool setFrame(MarchedValue &value) const;
  bool setAxes(bool channelsLast);
  bool chooseVector();
  bool chooseColumns();
  void chooseUnroll();
  bool chooseHanded();
  void chooseHeight();
  void addSums();
  bool addSum(Operation *window);
  void measureWindows();
  int64_t registers(int64_t vector) const;

  const RegionForm &form;
  MarchForm march;
  int64_t taps = 0;
};

} // namespace

bool MarchAnalysis::slides(AffineExpr expr, ArrayRef<TileExtent> loops) const {
  for (auto [i, loop] : llvm::enumerate(loops))
    if (expr.isFunctionOfDim(i) && loop.dim &&
        (*loop.dim == march.row || *loop.dim == march.column))
      return true;
  return false;
}

/// Checks that `value` has one row and one column axis with unit scale and no
/// extent along the others, where it also has no padding, and notes its rows
/// and columns.
bool MarchAnalysis::setFrame(MarchedValue &value) const {
  bool hasRow = false, hasColumn = false;
  auto shape = cast<RankedTensorType>(value.value.getType()).getShape();
  for (auto [extent, size] : llvm::zip_equal(value.box, shape)) {
    if (extent.dim && extent.scale != 1)
      return false;
    if (extent.dim == march.row && !hasRow) {
      hasRow = true;
      value.firstRow = extent.low;
      value.lastRow = extent.high;
    } else if (extent.dim == march.column && !hasColumn) {
      hasColumn = true;
      value.firstColumn = extent.low;
      value.lastColumn = extent.high;
    } else if (extent.dim == march.row || extent.dim == march.column ||
               extent.low != extent.high ||
               (extent.dim
                    ? extent.low != 0 || form.parallel[*extent.dim] > size
                    : extent.low < 0 || extent.low >= size)) {
      return false;
    }
  }
  return hasRow && hasColumn;
}

bool MarchAnalysis::addInput(Value argument, ArrayRef<TileExtent> box) {
  for (MarchedValue &known : march.values) {
    if (known.value != argument)
      continue;
    for (auto [mine, other] : llvm::zip(known.box, box)) {
      if (mine.dim != other.dim || mine.scale != other.scale)
        return false;
      mine.low = std::min(mine.low, other.low);
      mine.high = std::max(mine.high, other.high);
    }
    return setFrame(known);
  }
  MarchedValue value{argument, SmallVector<TileExtent>(box)};
  if (!setFrame(value))
    return false;
  march.values.push_back(std::move(value));
  return true;
}

/// Adds the arguments that `window` slides over.
bool MarchAnalysis::addInputs(Operation *window) {
  auto op = cast<graph::FusibleOpInterface>(window);
  graph::IterationSpace space = op.getIterationSpace();
  auto placed = form.placements.find(window);
  if (placed == form.placements.end() || placed->second.box.empty())
    return false;
  SmallVector<TileExtent> loops(placed->second.box);
  for (int64_t size : space.reduced)
    loops.push_back(wholeAxis(size));
  int64_t points = 1;
  for (int64_t size : space.reduced)
    points *= size;
  taps += points;
  if (points < 1)
    return false;
  for (auto [operand, access] :
       llvm::zip(window->getOperands(), space.operands)) {
    if (!isa<BlockArgument>(operand))
      continue;
    if (!access.map)
      return false;
    if (llvm::none_of(access.map.getResults(),
                      [&](AffineExpr expr) { return slides(expr, loops); }))
      continue;
    SmallVector<TileExtent> box;
    auto type = cast<RankedTensorType>(operand.getType());
    for (auto [expr, size] :
         llvm::zip(access.map.getResults(), type.getShape()))
      box.push_back(extentOf(expr, loops, size));
    if (!addInput(operand, box))
      return false;
  }
  return true;
}

/// Keeps `shifted` if it is read at several rows or columns.
bool MarchAnalysis::keepShifted(const ShiftedValue &shifted) {
  MarchedValue value{shifted.value, shifted.box};
  bool moves = false;
  for (const ShiftedValue::Read &read : shifted.reads)
    for (auto [mine, seen] : llvm::zip(shifted.box, read.box)) {
      if (!mine.dim || (*mine.dim != march.row && *mine.dim != march.column))
        continue;
      const TileExtent *reader = llvm::find_if(
          read.reader, [&](const TileExtent &e) { return e.dim == mine.dim; });
      if (reader == read.reader.end())
        return false;
      // What the reader's newest row or column sees.
      int64_t own = reader->high - reader->low;
      bool isRow = *mine.dim == march.row;
      int64_t span = isRow ? mine.high - seen.low - own + 1
                           : seen.high - seen.low - own + 1;
      int64_t &most = isRow ? value.windowRows : value.windowColumns;
      most = std::max(most, span);
      moves |= span > 1 || (!isRow && mine.high - mine.low > own);
    }
  if (!moves)
    return true;
  if (!setFrame(value))
    return false;
  march.values.push_back(std::move(value));
  return true;
}

/// Adds what the ops of a region without windows read at several places.
bool MarchAnalysis::addShifted() {
  std::optional<SmallVector<ShiftedValue>> values = shiftedValues(form);
  if (!values)
    return false;
  for (const ShiftedValue &value : *values) {
    size_t before = march.values.size();
    if (!keepShifted(value))
      return false;
    if (march.values.size() > before)
      taps += int64_t(value.reads.size());
  }
  return true;
}

/// Adds `window` if it slides over the rows of one kept value.
bool MarchAnalysis::addSum(Operation *window) {
  graph::IterationSpace space =
      cast<graph::FusibleOpInterface>(window).getIterationSpace();
  unsigned parallel = space.parallel.size();
  std::optional<CarriedSum> sum;
  for (auto [operand, access] :
       llvm::zip(window->getOperands(), space.operands)) {
    auto known = llvm::find_if(march.values, [&](const MarchedValue &value) {
      return value.value == operand;
    });
    if (known == march.values.end())
      continue;
    if (sum || !access.map)
      return false;
    sum = {window, operand};
    const TileExtent *row =
        llvm::find_if(known->box, [&](const TileExtent &extent) {
          return extent.dim == march.row;
        });
    AffineMap rowOf = access.map.getSubMap(row - known->box.begin());
    SmallVector<int64_t> point(rowOf.getNumDims(), 0);
    sum->first = rowOf.compose(point)[0];
    unsigned slides = 0;
    for (auto [dim, size] : llvm::enumerate(space.reduced)) {
      point[parallel + dim] = 1;
      int64_t step = rowOf.compose(point)[0] - sum->first;
      point[parallel + dim] = 0;
      if (step == 0)
        continue;
      ++slides;
      sum->tapDim = dim;
      sum->taps = size;
      sum->step = step;
    }
    if (slides != 1 || sum->step < 0 || sum->taps < 2)
      return false;
  }
  if (sum)
    march.sums.push_back(*sum);
  return bool(sum);
}

/// Sums are carried but for those of poolings, which combine their rows once a
/// column.
void MarchAnalysis::addSums() {
  for (const RegionStage &stage : form.stages)
    if (!isa<graph::WindowReduceOp>(stage.op))
      addSum(stage.op);
}

/// How much of each value one point of a window reads: what the window's own
/// box adds to the span of the value's; of what is summed at once, a row.
void MarchAnalysis::measureWindows() {
  for (const RegionStage &stage : form.stages) {
    bool isCarried = llvm::any_of(march.sums, [&](const CarriedSum &sum) {
      return sum.window == stage.op;
    });
    int64_t rows = 0, columns = 0;
    for (const TileExtent &extent : form.placements.lookup(stage.op).box) {
      if (extent.dim == march.row)
        rows = extent.high - extent.low;
      if (extent.dim == march.column)
        columns = extent.high - extent.low;
    }
    for (MarchedValue &value : march.values)
      if (llvm::is_contained(stage.op->getOperands(), value.value)) {
        if (!isCarried)
          value.windowRows = std::max(
              value.windowRows, value.lastRow - value.firstRow - rows + 1);
        value.windowColumns =
            std::max(value.windowColumns,
                     value.lastColumn - value.firstColumn - columns + 1);
      }
  }
}

/// 32-bit registers of one element.
static int64_t registersOf(Value value) {
  Type compute = graph::ElementBuilder::computeType(
      cast<RankedTensorType>(value.getType()).getElementType());
  return llvm::divideCeil(compute.getIntOrFloatBitWidth(), 32);
}

int64_t MarchAnalysis::registers(int64_t vector) const {
  int64_t sum = taps;
  for (const MarchedValue &value : march.values)
    sum += value.windowRows * (vector + value.windowColumns - 1) *
           registersOf(value.value);
  for (const CarriedSum &carried : march.sums)
    sum += carried.taps * vector * registersOf(carried.window->getResult(0));
  return sum;
}

/// The widest vector that fits in registers and wastes few columns.
bool MarchAnalysis::chooseVector() {
  int64_t left = 0, right = 0, width = form.parallel[march.column];
  for (const MarchedValue &value : march.values) {
    left = std::max(left, -value.firstColumn);
    right = std::max(right, value.lastColumn);
  }
  double best = 0;
  for (int64_t vector : {4, 2, 1}) {
    MarchForm candidate = march;
    candidate.vector = vector;
    candidate.leftMargin = llvm::alignTo(uint64_t(left), vector);
    candidate.rightMargin = llvm::alignTo(uint64_t(right), vector);
    if (candidate.usefulColumns() * 2 < candidate.columns() ||
        registers(vector) > kMaxRegisters)
      continue;
    int64_t strips = llvm::divideCeil(width, candidate.usefulColumns());
    double use = double(width) / double(strips * candidate.columns());
    // Shuffles cost a narrow vector as much as a third of its columns.
    double worth = use * double(vector) / double(vector + 1);
    if (worth <= best)
      continue;
    best = worth;
    march = candidate;
  }
  return best > 0.3;
}

/// The most columns a thread that fit in registers: of channels-last images it
/// holds all of its strip's, and margins cost loads alone.
bool MarchAnalysis::chooseColumns() {
  for (const MarchedValue &value : march.values) {
    march.leftMargin = std::max(march.leftMargin, -value.firstColumn);
    march.rightMargin = std::max(march.rightMargin, value.lastColumn);
  }
  int64_t margins = march.leftMargin + march.rightMargin;
  int64_t width = form.parallel[march.column];
  for (int64_t most = kMaxColumns; most >= 1; --most) {
    // Equal strips instead of a small last one.
    int64_t columns = llvm::divideCeil(width, llvm::divideCeil(width, most));
    march.vector = columns + margins;
    for (march.ahead = 4; march.ahead >= 1; march.ahead /= 2)
      // Rows that are loaded ahead take registers, too, with their margins.
      if (registers(columns) + march.ahead * march.vector <= kMaxWideRegisters)
        return true;
  }
  return false;
}

/// As many rows in an iteration as the instruction cache has room for.
void MarchAnalysis::chooseUnroll() {
  int64_t row = taps * (march.lane ? march.usefulColumns() : march.vector);
  march.unroll = 8;
  while (march.unroll > 1 && march.unroll * row > kIterationTaps)
    march.unroll /= 2;
  march.ahead = march.lane ? std::min(march.ahead, march.unroll) : march.unroll;
  // About half of what these rows add to is needed.
  march.isApart = march.warmUp * row / 2 <= kIterationTaps;
}

/// How rows are handed to a Row region behind, if there is one; false if a
/// block cannot hold all lanes.
bool MarchAnalysis::chooseHanded() {
  if (form.behind.empty())
    return true;
  if (!march.lane)
    return false;
  int64_t lanes = form.parallel[*march.lane];
  march.warps = llvm::divideCeil(lanes, 32);
  march.handedPitch = int64_t(llvm::alignTo(uint64_t(lanes), 4));
  int64_t bytes = 0;
  for (Value value : form.handed)
    bytes += 4 * registersOf(value) * march.usefulColumns() * march.handedPitch;
  // Whole iterations, and few rows past the image.
  int64_t most = std::min<int64_t>(kMaxHandedRows, kHandedBytes / bytes);
  most = std::max<int64_t>(1, most / march.unroll) * march.unroll;
  march.handedRows = most;
  for (int64_t rows = most; rows > most / 2; rows -= march.unroll)
    if (form.parallel[march.row] % rows == 0) {
      march.handedRows = rows;
      break;
    }
  march.handedBytes = march.handedRows * bytes;
  return march.warps <= kMaxWarps && march.handedBytes <= kHandedBytes;
}

/// The height of strips of about `wanted` of `rows` rows: equal ones instead of
/// a small last one.
static int64_t heightFor(int64_t wanted, int64_t rows, const MarchForm &march) {
  int64_t share = llvm::divideCeil(rows, llvm::divideCeil(rows, wanted));
  int64_t atATime = std::max(march.unroll, march.handedRows);
  return int64_t(llvm::alignTo(uint64_t(share), atATime));
}

/// The height with the fewest rows that a multiprocessor walks one after the
/// other, those that fill the registers included; half a wave is lost at the
/// end.
void MarchAnalysis::chooseHeight() {
  int64_t others = 1, rows = form.parallel[march.row];
  for (auto [dim, size] : llvm::enumerate(form.parallel))
    if (dim == march.lane)
      others *= llvm::divideCeil(size, 32);
    else if (dim != march.row && dim != march.column)
      others *= size;
  int64_t strips =
      llvm::divideCeil(form.parallel[march.column], march.usefulColumns());
  int64_t kept = registers(march.lane ? march.usefulColumns() : march.vector);
  int64_t each = std::max(kept + kOtherRegisters, kLeastRegisters);
  double resident = double(kMultiprocessors * (kLaneRegisters / each / 4 * 4));
  double best = 0;
  for (int64_t wanted : kHeights) {
    int64_t height = heightFor(wanted, rows, march);
    double warps = double(others * strips * llvm::divideCeil(rows, height));
    double walked =
        double(height + march.warmUp) * std::max(1.0, warps / resident + 0.5);
    // Loads run an iteration ahead: there should be one.
    bool isShort = height < 2 * march.unroll;
    if (best > 0 && (isShort || walked >= best))
      continue;
    best = walked;
    march.height = height;
  }
}

/// Adds what window ops read: arguments, and values of the region.
bool MarchAnalysis::addWindows() {
  for (const RegionStage &stage : form.stages) {
    auto window = dyn_cast<graph::ReductionOpInterface>(stage.op);
    if (!window || !addInputs(stage.op))
      return false;
  }
  for (StagedValue &staged : stagedValues(form)) {
    MarchedValue value{staged.value, staged.box};
    if (!setFrame(value))
      return false;
    march.values.push_back(std::move(value));
  }
  addSums();
  measureWindows();
  return true;
}

/// Chooses the axes; false if they are too short.
bool MarchAnalysis::setAxes(bool channelsLast) {
  unsigned rank = form.parallel.size(), lanes = channelsLast;
  if (rank < 2 + lanes)
    return false;
  march.row = rank - 2 - lanes;
  march.column = rank - 1 - lanes;
  if (!channelsLast)
    return form.parallel[march.row] >= 8 && form.parallel[march.column] >= 24;
  march.lane = rank - 1;
  int64_t channels = form.parallel[*march.lane];
  return form.parallel[march.row] >= 4 && form.parallel[march.column] >= 2 &&
         channels * 2 > int64_t(llvm::alignTo(uint64_t(channels), 32));
}

std::optional<MarchForm> MarchAnalysis::run(bool channelsLast) {
  if (form.kind != KernelKind::Stencil || !setAxes(channelsLast))
    return std::nullopt;
  if (form.stages.empty() ? !addShifted() : !addWindows())
    return std::nullopt;
  if (march.values.empty() || taps > kMaxTaps ||
      !(channelsLast ? chooseColumns() : chooseVector()))
    return std::nullopt;
  for (const MarchedValue &value : march.values)
    march.warmUp = std::max(march.warmUp, value.lastRow - value.firstRow);
  chooseUnroll();
  if (!chooseHanded())
    return std::nullopt;
  chooseHeight();
  return march;
}

std::optional<MarchForm> analysis::analyzeMarch(const RegionForm &form) {
  if (auto march = MarchAnalysis(form).run(/*channelsLast=*/false))
    return march;
  return MarchAnalysis(form).run(/*channelsLast=*/true);
}

SmallVector<int64_t> analysis::marchHeights(const RegionForm &form,
                                            const MarchForm &march) {
  SmallVector<int64_t> result = {march.height};
  for (int64_t wanted : kHeights) {
    int64_t height = heightFor(wanted, form.parallel[march.row], march);
    if (!llvm::is_contained(result, height))
      result.push_back(height);
  }
  return result;
}

MarchForm analysis::withWidths(MarchForm march, const MarchForm &pattern) {
  march.vector = pattern.vector;
  march.unroll = pattern.unroll;
  march.ahead = pattern.ahead;
  march.isApart = pattern.isApart;
  march.height = pattern.height;
  march.leftMargin = pattern.leftMargin;
  march.rightMargin = pattern.rightMargin;
  march.handedRows = pattern.handedRows;
  march.handedBytes = pattern.handedBytes;
  return march;
}
