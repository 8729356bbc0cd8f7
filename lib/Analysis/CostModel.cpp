//===- CostModel.cpp - how long a kernel takes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time = launches + max(memory, instructions, tensor cores). Every buffer is
// read once: a second read inside a kernel hits a cache for rows and tiles. The
// exceptions are the re-reads of contractions, counted per output tile, and of
// rows that are walked several times. A row kernel of fewer blocks than the
// machine has multiprocessors gets their share of the bandwidth only.
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/CostModel.h"
#include "fusec/Analysis/ColumnTiling.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Analysis/RowTiling.h"
#include "fusec/Analysis/StencilMarch.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

/// Output tile of a contraction: an operand element in the prologue is
/// recomputed once per tile along the other free axis. 128 is what the tensor
/// core loops of this generation use.
static constexpr double kContractionTile = 128;
/// Fraction of peak that a tensor-core loop sustains.
static constexpr double kTensorEfficiency = 0.7;
/// The same of products in f32 on the plain cores: 4096^3 in 3046 us
/// (benchmarks/results/2026-11-30-all.md).
static constexpr double kPlainEfficiency = 0.75;
/// The same on sm_90a where an operand is computed on its way, so that neither
/// wgmma nor the copy engine can be used: 104 TFLOP/s
/// (benchmarks/results/2026-11-29-gemm-mma-sync.md).
static constexpr double kComputedEfficiency = 0.1;

double CostEstimate::total() const {
  return launchTime + std::max({memoryTime, instructionTime, tensorTime});
}

double analysis::pointCount(ArrayRef<int64_t> sizes) {
  double count = 1;
  for (int64_t size : sizes)
    count *= ShapedType::isDynamic(size) ? kAssumedDynamicSize : size;
  return count;
}

double analysis::tensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  double bytes = std::max(1u, tensor.getElementTypeBitWidth() / 8);
  return bytes * pointCount(tensor.getShape());
}

double CostModel::memoryTime(double bytes) const {
  return bytes / target.memoryBandwidth * 1e6;
}

CostEstimate CostModel::fromTotals(double readBytes, double writtenBytes,
                                   double instructions,
                                   double tensorFlops) const {
  CostEstimate result;
  result.readBytes = readBytes;
  result.writtenBytes = writtenBytes;
  result.instructions = instructions;
  result.tensorFlops = tensorFlops;
  result.memoryTime = memoryTime(readBytes + writtenBytes);
  result.instructionTime = instructions / target.instructionRate * 1e6;
  result.tensorTime =
      tensorFlops / (target.halfTensorFlops * kTensorEfficiency) * 1e6;
  result.launchTime = target.launchMicroseconds;
  return result;
}

/// Points of the spine on which an evaluation at `map` differs.
static double evaluations(const RegionForm &form, AffineMap map) {
  SmallVector<int64_t> spine = form.spine();
  if (!map || form.kind == KernelKind::Pointwise)
    return pointCount(spine);
  double count = 1;
  for (auto [i, size] : llvm::enumerate(spine))
    if (i < form.parallel.size() || usesDimIn(map, i, i + 1))
      count *= pointCount(size);
  return count;
}

/// Whether what is read at `map` feeds the contraction of `form`.
static bool isInPrologue(const RegionForm &form, AffineMap map) {
  return !map || usesDimIn(map, form.parallel.size(),
                           form.parallel.size() + form.reduced.size());
}

/// Whether an operand of the matrix product of `form` would be copied but for
/// arithmetic on it or what pads it. Convolutions gather their image anyway.
static bool computesOperand(FactTable &facts, const RegionForm &form) {
  if (!isa_and_nonnull<graph::ContractOp>(form.hero()))
    return false;
  return llvm::any_of(form.ops, [&](Operation *op) {
    const OpFacts *fact = facts.get(op);
    auto placed = form.placements.find(op);
    return fact && fact->opClass == OpClass::Inlined &&
           (fact->role == graph::FusionRole::elementwise ||
            isa<graph::PadOp>(op)) &&
           placed != form.placements.end() &&
           llvm::any_of(placed->second.reads,
                        [&](AffineMap map) { return isInPrologue(form, map); });
  });
}

/// Whether `hero` is a matrix product of operands of 8 bits.
static bool multipliesBytes(Operation *hero) {
  auto isByte = [](Value value) {
    return cast<RankedTensorType>(value.getType())
               .getElementType()
               .getIntOrFloatBitWidth() == 8;
  };
  return isa_and_nonnull<graph::ContractOp>(hero) &&
         llvm::all_of(hero->getOperands(), isByte);
}

/// Whether `hero` is a matrix product in TF32.
static bool multipliesTf32(Operation *hero) {
  auto contract = dyn_cast_or_null<graph::ContractOp>(hero);
  return contract && contract.getAllowTf32() &&
         llvm::all_of(hero->getOperands(), [](Value value) {
           return cast<RankedTensorType>(value.getType())
               .getElementType()
               .isF32();
         });
}

/// Whether elements come to the matrix product of `form` other than along k
/// where threads have to turn them: 8-bit ones; on sm_90 also those of products
/// in TF32, and 16-bit ones in rows of no whole 16 bytes.
static bool turnsElements(FactTable &facts, const RegionForm &form,
                          bool isSm90) {
  Operation *hero = form.hero();
  if (!isa_and_nonnull<graph::ContractOp>(hero))
    return false;
  SmallVector<int64_t> spine = form.spine();
  // What the product wants along k; floats that are widened for it are turned
  // there.
  bool multiplies = multipliesBytes(hero);
  bool isSingle = isSm90 && multipliesTf32(hero);
  auto isTurned = [&](AffineMap map, RankedTensorType type) {
    unsigned last = type.getRank() - 1;
    Type element = type.getElementType();
    bool isAlongK = element.isInteger(8) ||
                    (multiplies && element.getIntOrFloatBitWidth() == 8) ||
                    (isSingle && element.isF32()) ||
                    (isSm90 && (element.isF16() || element.isBF16()) &&
                     type.getDimSize(last) % 8 != 0);
    return isAlongK && type.getDimSize(last) > 1 &&
           !isInPrologue(form, map.getSubMap({last}));
  };
  llvm::SmallPtrSet<Operation *, 16> inside(form.ops.begin(), form.ops.end());
  for (Operation *op : form.ops) {
    const OpFacts *fact = facts.get(op);
    auto placed = form.placements.find(op);
    if (!fact || (op != hero && placed == form.placements.end()))
      continue;
    SmallVector<AffineMap> reads;
    if (op != hero)
      llvm::copy_if(
          placed->second.reads, std::back_inserter(reads),
          [&](AffineMap map) { return map && isInPrologue(form, map); });
    for (auto [operand, access] :
         llvm::zip(op->getOperands(), fact->space.operands)) {
      auto type = cast<RankedTensorType>(operand.getType());
      if (!access.map || type.getRank() == 0 ||
          inside.contains(operand.getDefiningOp()))
        continue;
      if (op == hero
              ? isTurned(access.map, type)
              : llvm::any_of(reads, [&](AffineMap read) {
                  return isTurned(composeIndex(access.map, read, spine), type);
                }))
        return true;
    }
  }
  return false;
}

/// Whether `hero` multiplies floats that no tensor core takes: f32 other than
/// as TF32, and f64.
static bool multipliesPlainly(Operation *hero) {
  if (!hero || multipliesTf32(hero))
    return false;
  if (auto convolution = dyn_cast<graph::ConvolutionOp>(hero);
      convolution && convolution.getAllowTf32())
    return false;
  return llvm::all_of(hero->getOperands(), [](Value value) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    return element.isF32() || element.isF64();
  });
}

/// Part of the time of a product of 16-bit elements that one of others takes.
static double relativeTime(const RegionForm &form, const TargetInfo &target) {
  if (multipliesTf32(form.hero()))
    return 2;
  if (multipliesPlainly(form.hero()))
    return target.halfTensorFlops * kTensorEfficiency /
           (target.floatFlops * kPlainEfficiency);
  return multipliesBytes(form.hero()) ? 0.5 : 1;
}

/// Points that rows behind windows take with what differs along the channels
/// alone at hand: a few passes over 4 to 8 points a thread's channels.
static constexpr double kPointsTogether = 8;

/// Instructions of one op in `form`.
static double instructionsOf(const RegionForm &form, const OpFacts &fact) {
  for (const RegionForm &rows : form.behind) {
    auto it = rows.placements.find(fact.op);
    if (it == rows.placements.end())
      continue;
    bool isOfChannels = llvm::none_of(it->second.reads, [&](AffineMap map) {
      return !map || usesDimIn(map, 0, rows.parallel.size());
    });
    return instructionsOf(rows, fact) / (isOfChannels ? kPointsTogether : 1);
  }
  if (fact.opClass != OpClass::Inlined) {
    double halo = form.kind == KernelKind::Stencil ? form.haloRatio : 1;
    return pointCount(fact.loops) * fact.cost * halo;
  }
  auto it = form.placements.find(fact.op);
  if (it == form.placements.end() || it->second.reads.empty())
    return pointCount(fact.loops) * fact.cost * form.haloRatio;
  double total = 0;
  for (AffineMap map : it->second.reads) {
    if (form.hero()) {
      bool inPrologue = isInPrologue(form, map);
      // Once per output tile along each parallel axis that the read ignores.
      double count = 1;
      for (auto [i, size] : llvm::enumerate(form.spine())) {
        bool used = !map || usesDimIn(map, i, i + 1);
        bool isReduced = i >= form.parallel.size();
        if (used)
          count *= pointCount(size);
        else if (inPrologue && !isReduced)
          count *= std::max(1.0, pointCount(size) / kContractionTile);
        else if (!isReduced)
          count *= pointCount(size);
      }
      total += count;
    } else {
      total += evaluations(form, map);
    }
  }
  return total * fact.cost;
}

/// Bytes per microsecond that one multiprocessor gets: 48 KB in flight over a
/// latency of 0.65 us.
static constexpr double kBytesPerMicrosecond = 48 * 1024 / 0.65;

/// What waiting for all blocks and starting again takes: somewhat more than
/// another launch, which small kernels share or do without. So what is read
/// once instead of twice has to pay for it.
static constexpr double kGridBarrierMicroseconds = 2.5;

/// What the L2 still holds of inputs that are read a second time, backwards,
/// while as much is written.
static constexpr double kHeldWhileStoring = 16 << 20;

/// Bytes of inputs that blocks which meet read from memory a second time.
static double readAgain(const RowTiling &tiling, double bytes,
                        const TargetInfo &target) {
  const RowMeeting &meeting = *tiling.meeting;
  int64_t step = tiling.columns() * tiling.unroll;
  double kept = std::min(1.0, double(meeting.keptIterations * step) /
                                  double(std::max<int64_t>(1, meeting.share)));
  double waves = double(tiling.blocks(0)) / target.multiprocessors;
  return std::max(0.0, bytes * (1 - kept) -
                           kHeldWhileStoring * std::max(1.0, waves));
}

/// What rows take of the time of their bytes
/// (benchmarks/results/2026-11-30-all.md): blocks that keep them load, meet and
/// store in turn, 1.01 to 1.05 measured; rows that start anywhere in a vector
/// share sectors with their neighbours, 1.02 to 1.13 from 255 elements on.
static constexpr double kKeptRows = 1.03, kShiftedRows = 1.1;
/// Of the instructions of rows with sums of exp(x - max), whose exponentials
/// are short where they are summed or rounded to 16 bits: 17 of 39 an element
/// in the gradient of cross entropy.
static constexpr double kShortPowers = 0.5;

/// How the tiling of a row region adds to the time of its bytes.
static void priceRows(CostEstimate &cost, FactTable &facts,
                      const RegionForm &form, const TargetInfo &target) {
  if (llvm::any_of(form.spine(), ShapedType::isDynamic))
    return;
  RowTiling tiling = tileRows(form, accessFacts(facts, form), target);
  double rows = pointCount(form.parallel), columns = pointCount(form.reduced);
  if (!rows || !columns)
    return;
  if (tiling.meeting)
    cost.readBytes += readAgain(tiling, cost.readBytes, target);
  else if (!tiling.isHeld(int64_t(columns)) && !tiling.keptBytes)
    cost.readBytes *= countPasses(form, tiling.onePass);
  double bytes = cost.readBytes + cost.writtenBytes;
  if (!rescaledSums(form).empty())
    cost.instructionTime *= kShortPowers;
  double blocks = double(tiling.blocks(int64_t(rows)));
  double busy = std::min<double>(blocks, target.multiprocessors);
  cost.memoryTime = std::max(bytes / target.memoryBandwidth * 1e6,
                             bytes / (busy * kBytesPerMicrosecond));
  cost.memoryTime *= tiling.keptBytes ? kKeptRows
                     : tiling.edges   ? kShiftedRows
                                      : 1.0;
  // The blocks of a split row meet once: a round trip to memory.
  if (tiling.splits > 1)
    cost.launchTime += tiling.meeting ? kGridBarrierMicroseconds : 1;
  // Those of a cluster meet through each other's shared memory.
  if (tiling.cluster > 1)
    cost.launchTime += 0.5;
}

/// The same for rows whose columns are summed, too: blocks store the states of
/// all columns, meet at a barrier of the grid and read them again.
static void priceColumns(CostEstimate &cost, FactTable &facts,
                         const RegionForm &form, const TargetInfo &target) {
  std::optional<ColumnTiling> tiling = tileColumns(facts, form);
  if (!tiling)
    return;
  double blocks =
      double(tiling->blocks(int64_t(pointCount(form.parallel)), target));
  double states =
      blocks * pointCount(form.reduced) * double(tiling->stateBytes);
  double bytes = cost.readBytes + cost.writtenBytes + 2 * states;
  double busy = std::min<double>(blocks, target.multiprocessors);
  cost.memoryTime = std::max(bytes / target.memoryBandwidth * 1e6,
                             bytes / (busy * kBytesPerMicrosecond));
  cost.launchTime += kGridBarrierMicroseconds;
}

/// Instructions of a marching strip beside its ops: of an element that is read
/// (address, mask, load, conversion), and of a kept value's point where columns
/// come from neighbouring lanes (shuffles, selections where windows hang over
/// the edge). From the loops of three convolutions 3x3 (660 instructions for 16
/// points, of which 480 are their ops), of poolings (282) and of a convolution
/// 7x7 with channels last (1149).
static constexpr double kAccessInstructions = 9, kNeighbourInstructions = 2.3;
/// Part of the instruction rate that marching warps reach, which are few for
/// their registers: 0.70 of the issue slots with 123, 0.64 with 217, while the
/// rate is 0.9 of them (counters of an H200).
static constexpr double kMarchingRate = 0.75;
/// The same where a warp shares eight weights and more, which are in uniform
/// registers: three depthwise 3x3 take 211 us with 64 registers a thread.
static constexpr double kSharedWeightRate = 1.02;
static constexpr double kManyWeights = 8;

/// Whether windows of `form` have weights, the same for a whole warp.
static bool sharesWeights(FactTable &facts, const RegionForm &form,
                          const MarchForm &march) {
  double weights = 0;
  for (Operation *op : form.ops)
    if (const OpFacts *fact = facts.get(op);
        fact && fact->role == graph::FusionRole::window &&
        op->getNumOperands() == 2)
      weights += pointCount(fact->space.reduced);
  return !march.lane && weights >= kManyWeights;
}

/// Instructions of the ops of a marching kernel for each of its `points`:
/// windows without weights are taken along one axis and then along the other.
static double opsOfPoint(FactTable &facts, const RegionForm &form,
                         double points) {
  double sum = 0;
  for (Operation *op : form.ops) {
    const OpFacts *fact = facts.get(op);
    if (!fact || fact->role == graph::FusionRole::movement)
      continue;
    double taps = pointCount(fact->space.reduced);
    if (op->getNumOperands() == 1 && fact->role == graph::FusionRole::window) {
      taps = 0;
      for (int64_t size : fact->space.reduced)
        taps += double(size - 1);
    }
    ArrayRef<int64_t> loops = fact->loops;
    double results = pointCount(loops.take_front(fact->numParallel()));
    sum += results / points * taps * double(fact->cost);
  }
  return sum;
}

/// What `march` adds to them: reading what it marches over, handing columns to
/// neighbours, and moving rows up in the registers.
static double besidePoint(const MarchForm &march) {
  double stored = double(march.lane ? march.usefulColumns() : march.vector);
  double sum = 0;
  for (const MarchedValue &value : march.values) {
    double held = double(march.vector);
    if (isa<BlockArgument>(value.value))
      sum += kAccessInstructions * (march.lane ? held / stored : 1 / held);
    if (!march.lane) {
      sum += kNeighbourInstructions;
      held += double(value.windowColumns - 1);
    }
    sum +=
        double(value.windowRows - 1) * held / (double(march.unroll) * stored);
  }
  return sum;
}

/// Points that a marching kernel computes over those of its spine: whole
/// strips, with margins and the rows that fill the registers. Margins of strips
/// that a thread holds by itself are read alone.
static double marchedShare(const RegionForm &form, const MarchForm &march) {
  auto share = [&](unsigned dim, int64_t useful, int64_t computed) {
    int64_t size = form.parallel[dim];
    return double(llvm::divideCeil(size, useful) * computed) / double(size);
  };
  int64_t columns = march.usefulColumns();
  return share(march.column, columns, march.lane ? columns : march.columns()) *
         share(march.row, march.height, march.height + march.warmUp);
}

/// How a stencil that marches down its rows adds to the time of its bytes.
static void priceMarch(CostEstimate &cost, FactTable &facts,
                       const RegionForm &form, const TargetInfo &target) {
  double points = pointCount(form.parallel);
  if (llvm::any_of(form.parallel, ShapedType::isDynamic) || points == 0)
    return;
  std::optional<MarchForm> march = analyzeMarch(form);
  if (!march)
    return;
  cost.instructions = points * marchedShare(form, *march) *
                      (opsOfPoint(facts, form, points) + besidePoint(*march));
  double rate =
      sharesWeights(facts, form, *march) ? kSharedWeightRate : kMarchingRate;
  cost.instructionTime =
      cost.instructions / (target.instructionRate * rate) * 1e6;
}

/// What the last block of a column of tiles does when all else is done: a
/// ticket, and reading the states of 64 rows each, of which it has so many
/// under way, through the L2.
static constexpr double kTicketMicroseconds = 1, kReadMicroseconds = 0.4;
static constexpr double kStatisticRows = 64, kReadAtOnce = 16;

/// The same for the columns of a contraction that are reduced in its kernel.
static void priceStatistics(CostEstimate &cost, FactTable &facts,
                            const RegionForm &form, const TargetInfo &target) {
  bool hasAny = false;
  double states = 0, rows = 1;
  for (const RegionStage &stage : form.statistics)
    if (const OpFacts *fact = facts.get(stage.op); fact && stage.isColumn) {
      ArrayRef<int64_t> loops = fact->loops;
      rows = pointCount(loops.drop_front(fact->numParallel()));
      states += 4 * pointCount(loops.take_front(fact->numParallel()));
      hasAny = true;
    }
  if (!hasAny)
    return;
  double parts = std::max(1.0, rows / kStatisticRows);
  cost.memoryTime += 2 * states * parts / target.memoryBandwidth * 1e6;
  cost.launchTime +=
      kTicketMicroseconds + kReadMicroseconds * parts / kReadAtOnce;
}

/// What a multiprocessor takes for a result of a product that is not stored 16
/// bytes at a time, ns a store: 8192 x 4096 x 1024 takes 97 us, with 4100
/// columns (8 bytes a store) 132, with 4098 (4 bytes) 165. The L2 merges parts
/// of a word with the rest: 304 with 4099 columns of 2 bytes.
static constexpr double kPieceNanoseconds = 0.53, kPartOfWord = 1.5;

/// The time of storing the results of a contraction whose rows are no whole
/// 16 bytes.
static void pricePieces(CostEstimate &cost, const RegionForm &form,
                        const TargetInfo &target) {
  for (const RegionOutput &output : form.outputs) {
    auto type = cast<RankedTensorType>(output.value.getType());
    if (type.getRank() < 2 || ShapedType::isDynamic(type.getShape().back()))
      continue;
    double bytes = tensorBytes(type);
    auto element = std::max(1u, type.getElementTypeBitWidth() / 8);
    auto row = uint64_t(type.getShape().back()) * element;
    double piece = double(row & (~row + 1)); // what divides it, a power of two
    if (row == 0 || piece >= 16)
      continue;
    cost.tensorTime += bytes / piece * (piece < 4 ? kPartOfWord : 1) *
                       kPieceNanoseconds / target.multiprocessors * 1e-3;
  }
}

/// What tensors of the result's size that stand behind a product of a round of
/// tiles or more add to it, in times of their bytes: warpgroups wait for them,
/// and the copy engine for its slots. Residuals in f16 on an H200 take 10.2 us
/// of 32768 x 384 with 1536 terms, 20 of 32768 x 768 with 768 and 31 with 3072,
/// whose bytes take 5.9, 11.9 and 11.9.
static constexpr double kReadBehindProduct = 1.7;
static constexpr double kRoundTile = 128 * 128;

/// The time of what else is read for each result of a product on warpgroups.
static void priceReadsBehind(CostEstimate &cost, FactTable &facts,
                             const RegionForm &form, const TargetInfo &target) {
  double points = pointCount(form.parallel);
  if (target.computeCapability != 90 ||
      !isa_and_nonnull<graph::ContractOp>(form.hero()) ||
      multipliesPlainly(form.hero()) ||
      points < kRoundTile * double(target.multiprocessors))
    return;
  llvm::SmallPtrSet<Operation *, 16> inside(form.ops.begin(), form.ops.end());
  llvm::SmallPtrSet<Value, 4> reads;
  for (Operation *op : form.ops) {
    auto placed = form.placements.find(op);
    const OpFacts *fact = facts.get(op);
    if (!fact || fact->opClass == OpClass::Hero ||
        placed == form.placements.end() ||
        llvm::any_of(placed->second.reads,
                     [&](AffineMap map) { return isInPrologue(form, map); }))
      continue;
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()) &&
          !matchPattern(operand, m_Constant()) &&
          pointCount(cast<RankedTensorType>(operand.getType()).getShape()) >=
              points)
        reads.insert(operand);
  }
  for (Value value : reads)
    cost.tensorTime += kReadBehindProduct * tensorBytes(value.getType()) /
                       target.memoryBandwidth * 1e6;
}

/// What a step of a chain takes beside its work, us: values that go to the
/// others' shared memory, and waiting for theirs. 19 steps of 64 rows take 12.7
/// with their launch (benchmarks/results/2026-11-30-all.md).
static constexpr double kStepMicroseconds = 0.5;

CostEstimate CostModel::asStep(const CostEstimate &alone) const {
  CostEstimate step = alone;
  step.memoryTime = (alone.readBytes + alone.writtenBytes) /
                    (kBytesPerMicrosecond * kChainBlocks);
  step.instructionTime =
      alone.instructionTime * target.multiprocessors / kChainBlocks;
  step.launchTime = kStepMicroseconds;
  return step;
}

CostEstimate CostModel::chainOf(ArrayRef<CostEstimate> alone) const {
  CostEstimate sum;
  sum.launchTime = target.launchMicroseconds;
  for (const CostEstimate &kernel : alone) {
    CostEstimate step = asStep(kernel);
    sum.readBytes += step.readBytes;
    sum.writtenBytes += step.writtenBytes;
    sum.instructions += step.instructions;
    sum.memoryTime += step.total() - step.launchTime;
    sum.launchTime += step.launchTime;
  }
  return sum;
}

CostEstimate CostModel::estimate(FactTable &facts,
                                 const RegionForm &form) const {
  if (form.kind == KernelKind::Multi) {
    CostEstimate sum;
    for (const RegionForm &part : form.parts) {
      CostEstimate one = estimate(facts, part);
      sum = fromTotals(sum.readBytes + one.readBytes,
                       sum.writtenBytes + one.writtenBytes,
                       sum.instructions + one.instructions,
                       sum.tensorFlops + one.tensorFlops);
    }
    return sum;
  }
  if (form.kind == KernelKind::Chain) {
    SmallVector<CostEstimate> alone;
    for (const RegionForm &part : form.parts)
      alone.push_back(estimate(facts, part));
    return chainOf(alone);
  }
  llvm::SmallPtrSet<Operation *, 16> inside(form.ops.begin(), form.ops.end());
  llvm::SmallPtrSet<Value, 16> inputs;
  double read = 0, written = 0, instructions = 0, flops = 0;
  for (Operation *op : form.ops) {
    const OpFacts *fact = facts.get(op);
    if (!fact)
      continue;
    if (fact->opClass == OpClass::Hero)
      flops += 2 * pointCount(fact->loops);
    else
      instructions += instructionsOf(form, *fact);
    for (auto [operand, access] :
         llvm::zip(op->getOperands(), fact->space.operands)) {
      Operation *producer = operand.getDefiningOp();
      if ((producer && inside.contains(producer)) ||
          !inputs.insert(operand).second)
        continue;
      // A gather or slice touches no more than it reads.
      read += std::min(
          tensorBytes(operand.getType()),
          tensorBytes(RankedTensorType::get(
              fact->loops,
              cast<RankedTensorType>(operand.getType()).getElementType())));
    }
  }
  for (const RegionOutput &output : form.outputs)
    written += tensorBytes(output.value.getType());
  CostEstimate result = fromTotals(read, written, instructions, flops);
  result.tensorTime *= relativeTime(form, target);
  if ((target.computeCapability == 90 && computesOperand(facts, form)) ||
      turnsElements(facts, form, target.computeCapability == 90))
    result.tensorTime *= kTensorEfficiency / kComputedEfficiency;
  if (form.kind == KernelKind::Row)
    (form.columns.empty() ? priceRows : priceColumns)(result, facts, form,
                                                      target);
  if (form.kind == KernelKind::Contraction) {
    pricePieces(result, form, target);
    priceReadsBehind(result, facts, form, target);
    priceStatistics(result, facts, form, target);
  }
  if (form.kind == KernelKind::Stencil)
    priceMarch(result, facts, form, target);
  return result;
}
