//===- Contraction.cpp - a region around the contraction skeleton ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tile.contract: what feeds the hero goes into the operand holes, what
// uses it into the epilogue. Contractions that the skeleton does not compute
// (integers of more than 8 bits, f64) or computes badly (few rows or columns:
// the operand is read once and memory is the bound) get the schedules of other
// regions.
//===----------------------------------------------------------------------===//
#include "ContractionChoice.h"
#include "ContractionHoles.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using cuda::GemmConfig;
using cuda::GemmKind;
using cuda::GemmSupply;

// A tile row or column of the skeleton below this is mostly idle.
static constexpr int64_t kFewRows = 8;
// Sums shorter than a warp do not pay for a reduction across threads.
static constexpr int64_t kShortSum = 32;
// Extents and blocks that 32-bit arithmetic of the skeleton holds.
static constexpr int64_t kMaxExtent = (int64_t(1) << 31) - 4096;
static constexpr int64_t kMaxBlocks = (int64_t(1) << 31) - 1;

/// Whether f32 operands may be rounded to TF32.
static bool allowsTf32(Operation *hero) {
  if (auto contract = dyn_cast<graph::ContractOp>(hero))
    return contract.getAllowTf32();
  if (auto convolution = dyn_cast<graph::ConvolutionOp>(hero))
    return convolution.getAllowTf32();
  return false;
}

/// The 8-bit integer type that has all elements of `value`, looking through
/// conversions that keep them and through movement; null if there is none.
static IntegerType byteType(Value value) {
  bool wasUnsigned = false;
  while (true) {
    auto type = dyn_cast<IntegerType>(
        cast<RankedTensorType>(value.getType()).getElementType());
    if (!type || type.getWidth() < 8)
      return {};
    // A wider unsigned type does not have the negative numbers of i8.
    if (type.getWidth() == 8)
      return type.isUnsigned() || !wasUnsigned ? type : IntegerType();
    wasUnsigned |= type.isUnsigned();
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<graph::CastOp, graph::ReshapeOp, graph::TransposeOp,
                         graph::BroadcastOp, graph::SliceOp>(op))
      return {};
    value = op->getOperand(0);
  }
}

/// The integer main loop for `hero`, whose sums are modulo 2^32; longer results
/// need sums that cannot reach that.
static std::optional<GemmKind> integerKind(Operation *hero, int64_t k) {
  constexpr int64_t kLongestSum = ((int64_t(1) << 31) - 1) / (255 * 255);
  IntegerType lhs = byteType(hero->getOperand(0));
  IntegerType rhs = byteType(hero->getOperand(1));
  auto result = dyn_cast<IntegerType>(
      cast<RankedTensorType>(hero->getResult(0).getType()).getElementType());
  if (!lhs || !rhs || !result || (result.getWidth() > 32 && k > kLongestSum))
    return std::nullopt;
  if (lhs.isUnsigned())
    return rhs.isUnsigned() ? GemmKind::U8 : GemmKind::U8I8;
  return rhs.isUnsigned() ? GemmKind::I8U8 : GemmKind::I8;
}

/// The same with the operands exchanged.
static GemmKind exchanged(GemmKind kind) {
  switch (kind) {
  case GemmKind::I8U8:
    return GemmKind::U8I8;
  case GemmKind::U8I8:
    return GemmKind::I8U8;
  case GemmKind::E4M3E5M2:
    return GemmKind::E5M2E4M3;
  case GemmKind::E5M2E4M3:
    return GemmKind::E4M3E5M2;
  default:
    return kind;
  }
}

/// The main loop of 8-bit floats for `hero`, for operands that are copied as
/// they are. Its sums are not those of f32, so not where every op counts alone.
static std::optional<GemmKind> float8Kind(KernelBuilder &kb, Operation *hero) {
  auto result =
      cast<RankedTensorType>(hero->getResult(0).getType()).getElementType();
  if (kb.options.target.computeCapability != 90 || result.isF64() ||
      kb.options.numerics != NumericsMode::Default)
    return std::nullopt;
  bool isWide[2];
  for (unsigned i : {0u, 1u}) {
    Type type =
        cast<RankedTensorType>(hero->getOperand(i).getType()).getElementType();
    if (!graph::isFloat8(type))
      return std::nullopt;
    isWide[i] = isa<Float8E5M2Type>(type);
  }
  if (isWide[0])
    return isWide[1] ? GemmKind::E5M2 : GemmKind::E5M2E4M3;
  return isWide[1] ? GemmKind::E4M3E5M2 : GemmKind::E4M3;
}

/// The main loop of floats whose element type holds both operands' elements
/// exactly; nothing if there is none.
static std::optional<GemmKind> floatKind(Operation *hero) {
  auto elementOf = [&](unsigned i) {
    return cast<RankedTensorType>(hero->getOperand(i).getType())
        .getElementType();
  };
  Type types[] = {elementOf(0), elementOf(1)};
  for (Type type : types)
    if (!isa<FloatType>(type) || type.isF64())
      return std::nullopt;
  if (cast<RankedTensorType>(hero->getResult(0).getType())
          .getElementType()
          .isF64())
    return std::nullopt;
  // 8-bit floats are among the numbers of both 16-bit types.
  auto fit = [&](auto isWide) {
    return llvm::all_of(types, [&](Type type) {
      return isWide(type) || type.getIntOrFloatBitWidth() == 8;
    });
  };
  if (fit([](Type type) { return type.isF16(); }))
    return GemmKind::F16;
  if (fit([](Type type) { return type.isBF16(); }))
    return GemmKind::BF16;
  return allowsTf32(hero) ? GemmKind::TF32 : GemmKind::F32;
}

static Type elementType(GemmKind kind, MLIRContext *context) {
  switch (kind) {
  case GemmKind::F16:
    return Float16Type::get(context);
  case GemmKind::BF16:
    return BFloat16Type::get(context);
  case GemmKind::TF32:
  case GemmKind::F32:
    return Float32Type::get(context);
  case GemmKind::I8:
  case GemmKind::I8U8:
  case GemmKind::U8I8:
  case GemmKind::U8:
    return IntegerType::get(context, 8);
  case GemmKind::E4M3:
  case GemmKind::E4M3E5M2:
  case GemmKind::E5M2E4M3:
  case GemmKind::E5M2:
    return Float8E4M3FNType::get(context);
  }
  llvm_unreachable("covered switch");
}

/// How both operands of `op` arrive.
static GemmSupply supplyOf(tile::ContractOp op) {
  if (!op.getLhsBase() || !op.getRhsBase())
    return GemmSupply::Computed;
  int64_t bytes = op.getElementType().getIntOrFloatBitWidth() / 8;
  // Warpgroups multiply 32-bit elements along k alone.
  if (bytes == 4 && (op.getLhsOuter() || op.getRhsOuter()))
    return GemmSupply::Groups;
  auto isBoxable = [&](std::optional<ArrayRef<int64_t>> numbers, bool isOuter) {
    return numbers &&
           cuda::GemmMatrix::fromNumbers(*numbers).isBoxable(bytes, isOuter);
  };
  return isBoxable(op.getLhsMatrix(), op.getLhsOuter()) &&
                 isBoxable(op.getRhsMatrix(), op.getRhsOuter())
             ? GemmSupply::Boxes
             : GemmSupply::Groups;
}

/// Sets how many rows of A a box has: no more than there are where a tile has
/// more, in eights, after which the swizzle repeats. `rows` is the number that
/// decides, `actual` the one of this problem, which must not exceed it.
static bool setBoxRows(GemmConfig &config, tile::ContractOp op, int64_t rows,
                       int64_t actual) {
  if (config.loop != cuda::GemmLoop::Warpgroup || config.halfStages ||
      config.alternate || config.held || config.ranks > 1 || op.getLhsOuter() ||
      !op.getLhsMatrix())
    return true;
  int64_t eights = llvm::alignTo(uint64_t(rows), 8);
  if (eights >= config.tileM)
    return true;
  config.boxRows = eights;
  return actual <= config.boxRows;
}

/// Whether a product of fewer rows than a tile of other loops needs is still
/// one for tensor cores: reading many 16-bit weights is all that counts. One
/// row is a reduction, which the row schedule reads at 68 % (weights along n)
/// to 89 % of the bandwidth, and weights that it computes twice to five times
/// as fast as a tile of tensor cores (benchmarks/results/2026-11-30-gemm.md).
static bool isForFewRows(GemmKind kind, const ContractionShape &shape) {
  constexpr int64_t kManyWeights = int64_t(1) << 20;
  int64_t m = shape.extent(shape.m), n = shape.extent(shape.n),
          k = shape.extent(shape.k);
  return (kind == GemmKind::F16 || kind == GemmKind::BF16) && m > 1 &&
         m < kFewRows && n >= 64 && k >= 256 && n * k >= kManyWeights;
}

/// Whether one row is multiplied by many weights, which the loop that keeps A
/// in shared memory reads best where they stream or lie along n.
static bool isRowOfWeights(KernelBuilder &kb, GemmKind kind,
                           const ContractionShape &shape) {
  constexpr int64_t kManyWeights = int64_t(1) << 20;
  int64_t n = shape.extent(shape.n), k = shape.extent(shape.k);
  return (kind == GemmKind::F16 || kind == GemmKind::BF16) &&
         shape.extent(shape.m) == 1 && n >= 64 && k >= 256 &&
         n * k >= kManyWeights && kb.form.statistics.empty();
}

static bool isDirect(tile::KernelOp kernel) {
  bool result = false;
  kernel.walk([&](tile::ContractOp op) {
    result |=
        GemmConfig::fromNumbers(op.getConfig()).loop == cuda::GemmLoop::Direct;
  });
  return result;
}

namespace {
/// What blocks keep for statistics: the states of rows, those of columns, and
/// then counters for each of both that there is.
struct StatisticBuffers {
  SmallVector<Type> rows, columns;

  explicit StatisticBuffers(const analysis::RegionForm &form)
      : rows(HoleBuilder::stateTypes(form, /*areColumns=*/false)),
        columns(HoleBuilder::stateTypes(form, /*areColumns=*/true)) {}

  size_t numStates() const { return rows.size() + columns.size(); }
  size_t axes() const { return !rows.empty() + !columns.empty(); }

  /// Their elements follow from the configuration.
  SmallVector<KernelBuilder::Scratch> scratch(Type counter) const {
    SmallVector<KernelBuilder::Scratch> all;
    for (Type type : llvm::concat<const Type>(rows, columns))
      all.push_back({type, 0});
    all.append(axes(), {counter, 0});
    return all;
  }
  SmallVector<int64_t> elements(const GemmConfig &config, int64_t m, int64_t n,
                                int64_t batch) const {
    SmallVector<int64_t> counts;
    counts.append(rows.size(), batch * m * config.rowParts(n));
    counts.append(columns.size(), batch * n * config.columnParts(m));
    if (!rows.empty())
      counts.push_back(config.rowCounters(m, batch));
    if (!columns.empty())
      counts.push_back(config.columnCounters(n, batch));
    return counts;
  }
  SmallVector<Value> states(KernelBuilder &kb) const {
    return buffers(kb, 0, numStates());
  }
  SmallVector<Value> counters(KernelBuilder &kb) const {
    return buffers(kb, numStates(), axes());
  }

private:
  static SmallVector<Value> buffers(KernelBuilder &kb, size_t first,
                                    size_t count) {
    SmallVector<Value> all;
    for (size_t i = first; i < first + count; ++i)
      all.push_back(kb.scratch(i));
    return all;
  }
};

/// Builds the contraction and its holes for kinds of products.
struct ContractionBuilder {
  KernelBuilder &kb;
  const ContractionShape &shape;
  /// What the configuration follows from.
  const ContractionShape &pattern;
  Value m, n, k;
  /// The loop for few rows takes them along k; that is all they need.
  bool hasFewRows;
  /// See ContractionProblem.
  bool mustBeDirect;
  /// Set where the epilogue is.
  GemmConfig config = {};

  /// Null where there is a second product and no loop makes both.
  tile::ContractOp build(GemmKind kind) {
    Type element = elementType(kind, kb.builder.getContext());
    StatisticBuffers statistics(kb.form);
    auto op = tile::ContractOp::create(
        kb.builder, kb.loc, kb.extent(1), m, n, k, Value(), Value(),
        /*pairBase=*/Value(), statistics.states(kb), statistics.counters(kb),
        statistics.rows.size(), element, ArrayRef<int64_t>{}, /*lhsVector=*/1,
        /*lhsOuter=*/false,
        /*rhsVector=*/1, /*rhsOuter=*/false, /*lhsMatrix=*/nullptr,
        /*rhsMatrix=*/nullptr, kStatisticRegions * statistics.axes());
    HoleBuilder holes(kb, shape, element, m, n);
    holes.buildOperand(op, /*isLhs=*/true, hasFewRows);
    holes.buildOperand(op, /*isLhs=*/false);
    if (kb.form.second() && supplyOf(op) == GemmSupply::Boxes)
      holes.buildPair(op);
    holes.buildStatistics(op);
    if (isFloat8(kind) && supplyOf(op) == GemmSupply::Computed)
      return op;
    if (bool(kb.form.second()) != bool(op.getPairBase()))
      return {};
    config = chooseConfig(
        kb, pattern,
        {kind, supplyOf(op), ordersOf(op, kind, holes), mustBeDirect});
    holes.buildEpilogue(op, columnsAtOnce(op));
    if (config.span)
      holes.buildStream(op, config.span);
    return op;
  }

  /// Lets B stream where it can.
  cuda::GemmOrders ordersOf(tile::ContractOp op, GemmKind kind,
                            HoleBuilder &holes) {
    cuda::GemmOrders orders{op.getLhsOuter(), op.getRhsOuter()};
    int64_t rows = pattern.extent(pattern.m);
    bool isHalf = kind == GemmKind::F16 || kind == GemmKind::BF16;
    // As much of A as a lane holds of 16 rows by 32 k.
    int64_t most = rows <= 16 ? 32 : rows <= 32 ? 16 : 8;
    if (isHalf && rows <= cuda::kMostFewRows && !op.getRhsBase() &&
        !op.getRhsOuter() && !op.getLhsOuter())
      if (auto stream = holes.findStream(op, most)) {
        orders.span = stream->span;
        orders.staged = stream->staged;
        orders.bytes = stream->bytes;
      }
    return orders;
  }

  /// Whether results turn in shared memory (gemm_turn.cuh): one of 16 bits for
  /// each of m and n, of which 8 are always neighbours, and nothing else but
  /// vectors is read for it.
  bool turnsResults() {
    const analysis::RegionForm &form = kb.form;
    unsigned inner = shape.n.back();
    if (form.outputs.size() != 1 || !form.statistics.empty() ||
        shape.isOpen(shape.n) || shape.sizes[inner] % 8 ||
        config.sharedBytes() + config.turnBytes() + 1024 >
            cuda::GemmDevice::of(kb.options.target).sharedPerBlock)
      return false;
    auto type = cast<RankedTensorType>(form.outputs[0].value.getType());
    AffineMap index =
        analysis::composeIndex(form.outputs[0].index, shape.spine, shape.sizes);
    ArrayRef<AffineExpr> results = index.getResults();
    return type.getElementType().getIntOrFloatBitWidth() == 16 &&
           type.getShape().back() % 8 == 0 &&
           results.back() == getAffineDimExpr(inner, type.getContext()) &&
           llvm::none_of(
               results.drop_back(),
               [&](AffineExpr e) { return e.isFunctionOfDim(inner); }) &&
           !readsMatrix(form.outputs[0].value);
  }

  /// Whether `value` is made of the product and of more than vectors.
  bool readsMatrix(Value value) {
    SmallVector<Value> open = {value};
    llvm::SmallPtrSet<void *, 16> seen;
    int64_t largest = std::max(shape.extent(shape.m), shape.extent(shape.n));
    while (!open.empty()) {
      Value next = open.pop_back_val();
      Operation *op = next.getDefiningOp();
      bool isKnown = op && (op == kb.form.hero() || op == kb.form.second() ||
                            op->hasTrait<OpTrait::ConstantLike>());
      if (isKnown || !seen.insert(next.getAsOpaquePointer()).second)
        continue;
      if (op && kb.form.placements.contains(op))
        open.append(op->operand_begin(), op->operand_end());
      else if (cast<RankedTensorType>(next.getType()).getNumElements() >
               largest)
        return true;
    }
    return false;
  }

  /// Results that the epilogue takes at once. Where warpgroups multiply, two of
  /// 32 bits are stored as accumulators lie: the four lanes of a row write a
  /// whole sector. By what lies along n results turn if they can, and are taken
  /// two by two, too. Otherwise four lanes would have to exchange all they have
  /// for 8; for 4 it is half as much, and lanes still write whole sectors of
  /// 16-bit results.
  int64_t columnsAtOnce(tile::ContractOp op) {
    int64_t fewest = 64, most = 0;
    for (auto &output : kb.form.outputs) {
      Type type =
          cast<RankedTensorType>(output.value.getType()).getElementType();
      int64_t bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 8;
      fewest = std::min(fewest, bits), most = std::max(most, bits);
    }
    if (config.loop != cuda::GemmLoop::Warpgroup)
      return 8;
    if (fewest == 32 && most == 32 && kb.form.statistics.empty() &&
        llvm::none_of(kb.form.outputs,
                      [&](auto &output) { return readsMatrix(output.value); }))
      return 2;
    if (!op.getRhsOuter())
      return 8;
    return turnsResults() ? 2 : fewest >= 16 ? 4 : 8;
  }
};
} // namespace

/// Builds the kernel; `narrow` is the main loop for operands that are copied as
/// they are, `kind` the one for all others. The configuration follows from what
/// the operands are and from the sizes of `pattern`, extents and grid from
/// those of `counted`.
static FailureOr<tile::KernelOp>
buildKernel(KernelBuilder &kb, GemmKind kind, std::optional<GemmKind> narrow,
            const ContractionShape &shape, const ContractionShape &pattern,
            const ContractionShape &counted, bool mustBeDirect = false) {
  int64_t rows = counted.extent(shape.m), columns = counted.extent(shape.n);
  int64_t batches = counted.extent(shape.batch);
  SmallVector<int64_t> extents = {0, batches};
  auto addExtent = [&](ArrayRef<unsigned> loops, size_t position) {
    int64_t unit = pattern.unit(loops);
    extents.resize(std::max(extents.size(), position + 1));
    extents[position] = counted.extent(loops) / unit;
    return unit;
  };
  bool hasOpenColumns = shape.isOpen(shape.n);
  int64_t rowUnit = addExtent(shape.m, 0);
  int64_t columnUnit = hasOpenColumns ? addExtent(shape.n, 2) : 1;
  if (rows % rowUnit || columns % columnUnit)
    return kb.fusion.emitOpError() << "has " << rows << " x " << columns
                                   << " results: expected multiples of "
                                   << rowUnit << " and " << columnUnit;
  StatisticBuffers statistics(kb.form);
  kb.begin(/*threads=*/32, {1, 1, 1}, extents,
           statistics.scratch(kb.builder.getI32Type()),
           /*kept=*/statistics.axes());
  Value m = kb.mulIndex(kb.extent(0), rowUnit);
  Value n = hasOpenColumns ? kb.mulIndex(kb.extent(2), columnUnit)
                           : kb.index(shape.extent(shape.n));
  Value k = kb.index(shape.extent(shape.k));
  ContractionBuilder contraction{
      kb, shape, pattern, m, n, k, isForFewRows(kind, pattern), mustBeDirect};
  tile::ContractOp op = contraction.build(narrow.value_or(kind));
  if (!op)
    return kb.fusion.emitOpError("multiplies by two matrices that the copy "
                                 "engine does not bring");
  if (narrow && supplyOf(op) == GemmSupply::Computed) {
    op.erase();
    op = contraction.build(kind);
  }
  GemmConfig config = contraction.config;
  if (!setBoxRows(config, op, pattern.extent(shape.m), rows))
    return kb.fusion.emitOpError()
           << "has " << rows << " rows: expected at most " << config.boxRows;
  if (config.depth && shape.extent(shape.k) > config.depth)
    return kb.fusion.emitOpError()
           << "has sums of " << shape.extent(shape.k)
           << " terms: expected at most " << config.depth;
  op.setConfig(config.toNumbers());
  if (statistics.axes())
    kb.kernel.setScratch(statistics.elements(config, rows, columns, batches));
  kb.kernel.setThreads(config.threads());
  kb.kernel.setGrid({config.grid(rows, columns, batches,
                                 cuda::GemmDevice::of(kb.options.target)),
                     1, 1});
  return kb.kernel;
}

FailureOr<tile::KernelOp>
graph_to_tile::scheduleContraction(KernelBuilder &kb) {
  analysis::FactTable facts;
  std::optional<ContractionShape> pattern = contractionShape(facts, kb.pattern);
  auto withoutSkeleton = [&]() -> FailureOr<tile::KernelOp> {
    if (!kb.form.statistics.empty())
      return kb.fusion.emitOpError("reduces rows or columns of a product that "
                                   "the skeleton does not make");
    if (kb.form.second())
      return kb.fusion.emitOpError("has two products that no loop makes");
    return schedulePointwise(kb);
  };
  if (!pattern)
    return withoutSkeleton();
  std::optional<GemmKind> kind = floatKind(kb.form.hero());
  if (!kind)
    kind = integerKind(kb.form.hero(), pattern->extent(pattern->k));
  if (!kind || !hasConfig(kb, *pattern, *kind))
    return withoutSkeleton();
  std::optional<GemmKind> narrowest = float8Kind(kb, kb.form.hero());
  if (pattern->lhsOperand == 1) {
    kind = exchanged(*kind);
    if (narrowest)
      narrowest = exchanged(*narrowest);
  }
  std::optional<ContractionShape> shape =
      kb.options.pattern ? withSizesOf(*pattern, facts, kb.form) : pattern;
  if (!shape)
    return kb.fusion.emitOpError("has other loops than its pattern");
  if (isInteger(*kind) && !integerKind(kb.form.hero(), shape->extent(shape->k)))
    return kb.fusion.emitOpError()
           << "has sums of " << shape->extent(shape->k)
           << " terms: expected fewer than overflow 32 bits";
  std::optional<ContractionShape> counted =
      kb.options.counted ? withSizesOf(*pattern, facts, kb.counted) : shape;
  if (!counted)
    return kb.fusion.emitOpError("has other loops than its pattern");
  auto fits = [&](const ContractionShape &shape) {
    int64_t m = shape.extent(shape.m), n = shape.extent(shape.n);
    return std::max({m, n, shape.extent(shape.k)}) <= kMaxExtent &&
           modelConfig(kb, *pattern, *kind, GemmSupply::Computed)
                   .tiles(m, n, shape.extent(shape.batch)) <= kMaxBlocks;
  };
  int64_t narrow =
      std::min(pattern->extent(pattern->m), pattern->extent(pattern->n));
  bool isNarrow =
      narrow > 0 && narrow < kFewRows && !isForFewRows(*kind, *pattern);
  if (fits(*pattern) && !isNarrow) {
    if (!fits(*shape) || !fits(*counted))
      return kb.fusion.emitOpError("has more results than a grid holds");
    return buildKernel(kb, *kind, narrowest, *shape, *pattern, *counted);
  }
  if (fits(*pattern) && fits(*shape) && fits(*counted) &&
      isRowOfWeights(kb, *kind, *pattern)) {
    FailureOr<tile::KernelOp> kernel =
        buildKernel(kb, *kind, narrowest, *shape, *pattern, *counted,
                    /*mustBeDirect=*/true);
    if (failed(kernel) || isDirect(*kernel))
      return kernel;
    kernel->erase();
  }
  if (isNarrow && pattern->extent(pattern->k) >= kShortSum &&
      kb.form.statistics.empty() && !kb.form.second())
    return scheduleRow(kb, analysis::accessFacts(facts, kb.pattern));
  return withoutSkeleton();
}
