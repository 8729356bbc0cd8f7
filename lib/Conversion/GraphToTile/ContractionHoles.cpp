//===- ContractionHoles.cpp - the holes of a contraction ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ContractionHoles.h"
#include "ContractionMatrix.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "fusec/Dialect/Tile/Transforms/AxisInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using graph::ElementBuilder;

RankedTensorType HoleBuilder::registers(int64_t count) {
  return kb.carrierType(
      {count}, tile::LayoutAttr::get(kb.builder.getContext(),
                                     {tile::Digit{count, 1, 0}}, {}, {}));
}

Value HoleBuilder::splat(RankedTensorType carrier, Value scalar) {
  return tile::SplatOp::create(kb.builder, kb.loc, carrier, scalar);
}

SmallVector<Value>
HoleBuilder::spineIndex(RegionEmitter &emitter,
                        ArrayRef<std::pair<ArrayRef<unsigned>, Value>> linear) {
  ElementBuilder eb = emitter.elements();
  SmallVector<Value> loops(shape.sizes.size());
  for (auto [group, tile] : linear) {
    SmallVector<int64_t> sizes = shape.boxOf(group);
    emitter.setRange(tile, KernelBuilder::product(sizes));
    SmallVector<Value> parts;
    if (group.size() == 1)
      parts.push_back(tile);
    else if (!group.empty())
      parts = eb.delinearize(tile, sizes);
    for (auto [loop, part] : llvm::zip(group, parts))
      loops[loop] = part;
  }
  for (Value &loop : loops)
    if (!loop)
      loop = eb.index(0);
  return eb.apply(shape.spine, loops);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {
/// Lets an op build its lift and keeps what it read of one operand.
class OperandReader : public graph::ElementReader {
public:
  OperandReader(graph::ElementReader &inner, ElementBuilder eb, Operation *op,
                unsigned wanted)
      : inner(inner), eb(eb), op(op), wanted(wanted) {}
  Value readMasked(unsigned operand, ValueRange index, Value mask,
                   Value other) override {
    if (operand != wanted)
      return eb.zero(ElementBuilder::computeType(
          cast<RankedTensorType>(op->getOperand(operand).getType())
              .getElementType()));
    return value = inner.readMasked(operand, index, mask, other);
  }
  Value value;

private:
  graph::ElementReader &inner;
  ElementBuilder eb;
  Operation *op;
  unsigned wanted;
};
} // namespace

Value HoleBuilder::heroOperand(RegionEmitter &emitter, unsigned operand,
                               ValueRange spine) {
  auto hero = cast<graph::ReductionOpInterface>(kb.form.hero());
  unsigned parallel = kb.form.parallel.size();
  std::unique_ptr<graph::ElementReader> inner = emitter.reader(hero);
  ElementBuilder eb = emitter.elements();
  OperandReader reader(*inner, eb, hero, operand);
  hero.buildLift(eb, spine.take_front(parallel), spine.drop_front(parallel),
                 reader);
  return reader.value;
}

/// Whether `mask` is a conjunction with `condition` among its terms.
static bool implies(Value mask, Value condition) {
  if (mask == condition)
    return true;
  auto both = mask.getDefiningOp<arith::AndIOp>();
  return both && (implies(both.getLhs(), condition) ||
                  implies(both.getRhs(), condition));
}

/// The load whose elements `value` has unchanged: conversions to the compute
/// type and zeros where the load is masked anyway do not count.
static tile::LoadOp plainLoad(Value value, Type element) {
  SmallVector<Value> conditions;
  while (true) {
    if (auto select = value.getDefiningOp<arith::SelectOp>();
        select && (matchPattern(select.getFalseValue(), m_AnyZeroFloat()) ||
                   matchPattern(select.getFalseValue(), m_Zero()))) {
      conditions.push_back(select.getCondition());
      value = select.getTrueValue();
    } else if (Operation *op = value.getDefiningOp();
               isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(
                   op)) {
      value = op->getOperand(0);
    } else {
      break;
    }
  }
  auto load = value.getDefiningOp<tile::LoadOp>();
  if (!load || !load.getMask())
    return {};
  // Integers may differ in sign, 8-bit floats in type.
  Type stored = cast<MemRefType>(load.getBuffer().getType()).getElementType();
  if (stored != element && !(element.isInteger() && stored.isInteger(8)) &&
      !(graph::isFloat8(element) && graph::isFloat8(stored)))
    return {};
  for (Value condition : conditions)
    if (!implies(load.getMask(), condition))
      return {};
  return load;
}

/// `value`, which the hero reads, as an element of shared memory.
Value HoleBuilder::narrow(ElementBuilder &eb, Value value) {
  unsigned width = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  if (width == element.getIntOrFloatBitWidth())
    return value;
  if (element.isInteger())
    return eb.make<arith::TruncIOp>(eb.type(element), value);
  return eb.make<arith::TruncFOp>(eb.type(element), value);
}

/// True if `value` is a finite number where all loads give 0: made of those and
/// of small constants by a few ops that have no poles.
static bool isFiniteOfZeros(Value value, unsigned depth = 0) {
  constexpr unsigned kDeepest = 12;
  constexpr double kMost = 65536;
  APFloat number(0.0f);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return !number.isNaN() && std::abs(number.convertToDouble()) <= kMost;
  Operation *op = value.getDefiningOp();
  if (!op || depth > kDeepest)
    return false;
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getMask() && (matchPattern(load.getOther(), m_AnyZeroFloat()) ||
                              matchPattern(load.getOther(), m_Zero()));
  // An integer has no infinity; one of up to 32 bits is no large float either.
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return true;
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
           arith::ExtFOp, arith::TruncFOp, arith::SelectOp>(op))
    return false;
  // At most four factors below 2^32.
  if (isa<arith::MulFOp>(op) && depth > 1)
    return false;
  ValueRange parts = op->getOperands();
  return llvm::all_of(
      parts.drop_front(isa<arith::SelectOp>(op) ? 1 : 0),
      [&](Value part) { return isFiniteOfZeros(part, depth + 1); });
}

tile::LoadOp HoleBuilder::fillOperand(tile::ContractOp op, bool isLhs,
                                      Yield yield) {
  OpBuilder::InsertionGuard guard(kb.builder);
  Region &hole = isLhs ? op.getLhs() : op.getRhs();
  Block &block = hole.emplaceBlock();
  for (int i = 0; i < 3; ++i)
    block.addArgument(kb.builder.getIndexType(), kb.loc);
  kb.builder.setInsertionPointToStart(&block);

  bool isOuter = isLhs ? op.getLhsOuter() : op.getRhsOuter();
  int64_t count = yield == Yield::Source ? 1
                  : isLhs                ? op.getLhsVector()
                                         : op.getRhsVector();
  RankedTensorType carrier = registers(count);
  RegionEmitter emitter(kb.builder, kb.loc, kb.options);
  emitter.buffers = kb.emitter.buffers;
  emitter.setCarrier(carrier);
  auto along = [&](Value start, bool varies) {
    return varies ? kb.axisTile(carrier, 0, start) : splat(carrier, start);
  };
  Value outer = along(block.getArgument(1), isOuter);
  Value k = along(block.getArgument(2), !isOuter);
  Value rows = isLhs ? m : n;
  ElementBuilder eb = emitter.elements();
  int64_t extent = shape.extent(shape.k);
  // A piece lies inside of k or not where there is a whole number of them.
  Value tested = yield == Yield::Wide && extent % count == 0
                     ? splat(carrier, block.getArgument(2))
                     : k;
  Value inside = eb.logicalAnd(kb.below(carrier, outer, rows),
                               kb.below(carrier, tested, kb.index(extent)));
  emitter.setMask(inside);
  SmallVector<Value> spine =
      spineIndex(emitter, {{shape.batch, splat(carrier, block.getArgument(0))},
                           {isLhs ? shape.m : shape.n, outer},
                           {shape.k, k}});
  Value value = heroOperand(
      emitter, isLhs ? shape.lhsOperand : 1 - shape.lhsOperand, spine);
  tile::LoadOp load = plainLoad(value, element);
  if (yield == Yield::Source) {
    assert(load && "only copies have a source");
    tile::YieldOp::create(kb.builder, kb.loc,
                          ValueRange{load.getOffsets(), load.getMask()});
    return load;
  }
  if (yield == Yield::Wide) {
    if (getElementTypeOrSelf(value) == element)
      value = eb.make<arith::ExtFOp>(eb.type(kb.builder.getF32Type()), value);
    if (!isFiniteOfZeros(value))
      value = eb.select(inside, value, eb.zero(kb.builder.getF32Type()));
  } else if (load) {
    value = load;
  } else {
    value = narrow(eb, value);
    value = eb.select(inside, value, eb.zero(element));
  }
  tile::YieldOp::create(kb.builder, kb.loc, value);
  return load;
}

HoleBuilder::Trial HoleBuilder::tryOperand(tile::ContractOp op, bool isLhs,
                                           bool isOuter) {
  int64_t group = 128 / element.getIntOrFloatBitWidth();
  (isLhs ? op.setLhsVector(group) : op.setRhsVector(group));
  (isLhs ? op.setLhsOuter(isOuter) : op.setRhsOuter(isOuter));
  Trial trial;
  trial.isCopy = bool(fillOperand(op, isLhs, Yield::Elements));
  trial.width = trial.run = group;
  Region &hole = isLhs ? op.getLhs() : op.getRhs();
  tile::AxisAnalysis analysis(0);
  hole.walk([&](tile::LoadOp load) {
    tile::AxisInfo offsets = analysis.get(load.getOffsets());
    if (!trial.isCopy && offsets.constancy >= group)
      return; // one element for all
    int64_t bytes = llvm::divideCeil(
        load.getResult().getType().getElementTypeBitWidth(), 8);
    int64_t run = std::min({group, offsets.contiguity, 16 / bytes});
    trial.run = std::min(trial.run, run);
    if (load.getMask())
      run = std::min(run, analysis.get(load.getMask()).constancy);
    while (run > 1 && offsets.divisibilityAt(run) < run)
      run /= 2;
    trial.width = std::min(
        trial.width, static_cast<int64_t>(llvm::bit_floor(uint64_t(run))));
  });
  hole.dropAllReferences();
  hole.getBlocks().clear();
  return trial;
}

/// Whether what `value` is made of includes an element of memory.
static bool dependsOnLoads(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  return op && (isa<tile::LoadOp>(op) ||
                llvm::any_of(op->getOperands(), dependsOnLoads));
}

std::optional<HoleBuilder::Stream> HoleBuilder::streamOf(tile::ContractOp op,
                                                         int64_t span) {
  tile::AxisAnalysis analysis(0);
  Stream stream{span};
  bool isStream = true;
  op.getRhs().walk([&](tile::LoadOp load) {
    int64_t bytes = llvm::divideCeil(
        load.getResult().getType().getElementTypeBitWidth(), 8);
    tile::AxisInfo offsets = analysis.get(load.getOffsets());
    int64_t constancy = span;
    if (Value mask = load.getMask()) {
      constancy = analysis.get(mask).constancy;
      isStream &= matchPattern(load.getOther(), m_AnyZeroFloat()) ||
                  matchPattern(load.getOther(), m_Zero());
    }
    isStream &=
        !dependsOnLoads(load.getOffsets()) && !dependsOnLoads(load.getMask());
    if (offsets.constancy >= span && constancy >= span) {
      stream.bytes += double(bytes) / double(span);
      stream.staged += bytes >= 4;
      return;
    }
    bool isRun = offsets.contiguity >= span &&
                 offsets.divisibilityAt(span) >= span && span * bytes <= 16;
    bool isRepeated = offsets.span >= span && offsets.repeat > 1 &&
                      offsets.spanDivisibility >= span / offsets.repeat &&
                      span / offsets.repeat * bytes <= 16;
    isStream &= constancy >= span && (isRun || isRepeated);
    int64_t read = span / (isRun ? 1 : offsets.repeat) * bytes;
    isStream &= read >= 4;
    stream.bytes += double(read) / double(span);
    ++stream.staged;
  });
  return isStream && stream.staged ? std::optional(stream) : std::nullopt;
}

std::optional<HoleBuilder::Stream> HoleBuilder::findStream(tile::ContractOp op,
                                                           int64_t most) {
  int64_t vector = op.getRhsVector();
  Region hole;
  hole.takeBody(op.getRhs());
  std::optional<Stream> found;
  for (int64_t span = most; span >= 8 && !found; span /= 2) {
    op.setRhsVector(span);
    fillOperand(op, /*isLhs=*/false, Yield::Wide);
    found = streamOf(op, span);
    op.getRhs().dropAllReferences();
    op.getRhs().getBlocks().clear();
  }
  op.setRhsVector(vector);
  op.getRhs().takeBody(hole);
  return found;
}

void HoleBuilder::buildStream(tile::ContractOp op, int64_t span) {
  op.getRhs().dropAllReferences();
  op.getRhs().getBlocks().clear();
  op.setRhsVector(span);
  fillOperand(op, /*isLhs=*/false, Yield::Wide);
}

void HoleBuilder::buildOperand(tile::ContractOp op, bool isLhs, bool alongK) {
  Trial lines = tryOperand(op, isLhs, false);
  Trial columns = alongK ? lines : tryOperand(op, isLhs, true);
  auto rank = [](const Trial &t) { return std::pair(t.width, t.run); };
  bool isOuter = rank(lines) < rank(columns);
  const Trial &best = isOuter ? columns : lines;
  int64_t group = 128 / element.getIntOrFloatBitWidth();
  (isLhs ? op.setLhsVector(best.width) : op.setRhsVector(best.width));
  (isLhs ? op.setLhsOuter(isOuter) : op.setRhsOuter(isOuter));
  // Nothing turns bytes on their way from memory to the tensor cores.
  bool isTurned = isOuter && element.getIntOrFloatBitWidth() == 8;
  if (!best.isCopy || best.width != group || isTurned) {
    fillOperand(op, isLhs, Yield::Elements);
    return;
  }
  tile::LoadOp load = fillOperand(op, isLhs, Yield::Source);
  (isLhs ? op.getLhsBaseMutable() : op.getRhsBaseMutable())
      .assign(load.getBuffer());
  // Conversions of the loaded element are dead.
  Block &block = (isLhs ? op.getLhs() : op.getRhs()).front();
  for (Operation &dead : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&dead))
      dead.erase();
  if (std::optional<cuda::GemmMatrix> matrix =
          contractionMatrix(op, isLhs, shape))
    (isLhs ? op.setLhsMatrix(matrix->toNumbers())
           : op.setRhsMatrix(matrix->toNumbers()));
}

void HoleBuilder::buildPair(tile::ContractOp op) {
  Value own = kb.form.second()->getOperand(1 - shape.lhsOperand);
  if (auto turn = own.getDefiningOp<graph::TransposeOp>())
    own = turn.getOperand();
  assert(isa<BlockArgument>(own) && "pairs multiply what is in memory");
  op.getPairBaseMutable().assign(kb.emitter.buffers.lookup(own));
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

/// The hero's result from a sum of the main loop. Integers of other widths have
/// the same value modulo their own range.
Value HoleBuilder::finish(ElementBuilder &eb, graph::ReductionOpInterface hero,
                          Value sum) {
  Type state = hero.getStateTypes()[0];
  if (element.isInteger() && state.getIntOrFloatBitWidth() > 32)
    sum = eb.make<arith::ExtSIOp>(eb.type(state), sum);
  else if (element.isInteger() && state.getIntOrFloatBitWidth() < 32)
    sum = eb.make<arith::TruncIOp>(eb.type(state), sum);
  return hero.buildFinish(eb, sum, 0);
}

void HoleBuilder::buildEpilogue(tile::ContractOp op, int64_t columns) {
  OpBuilder::InsertionGuard guard(kb.builder);
  RankedTensorType carrier = registers(columns);
  Block &block = op.getEpilogue().emplaceBlock();
  for (int i = 0; i < 3; ++i)
    block.addArgument(kb.builder.getIndexType(), kb.loc);
  kb.builder.setInsertionPointToStart(&block);

  RegionEmitter emitter(kb.builder, kb.loc, kb.options);
  emitter.buffers = kb.emitter.buffers;
  emitter.setCarrier(carrier);
  ElementBuilder eb = emitter.elements();
  auto hero = cast<graph::ReductionOpInterface>(kb.form.hero());
  Type sumType = kb.builder.getF32Type();
  if (element.isInteger())
    sumType = kb.builder.getI32Type();
  Value sum = block.addArgument(eb.type(sumType), kb.loc);
  Value secondSum =
      op.getPairBase() ? block.addArgument(eb.type(sumType), kb.loc) : Value();
  Value column = kb.axisTile(carrier, 0, block.getArgument(2));
  int64_t divisor =
      shape.isOpen(shape.n) ? shape.unit(shape.n) : shape.extent(shape.n);
  Value mask;
  if (divisor % columns)
    mask = kb.below(carrier, column, n);
  emitter.setMask(mask);
  SmallVector<Value> spine =
      spineIndex(emitter, {{shape.batch, splat(carrier, block.getArgument(0))},
                           {shape.m, splat(carrier, block.getArgument(1))},
                           {shape.n, column}});
  emitter.staged = [&](Value value, ValueRange) {
    Operation *maker = value.getDefiningOp();
    if (maker && maker == kb.form.second())
      return finish(eb, cast<graph::ReductionOpInterface>(maker), secondSum);
    return maker == hero ? finish(eb, hero, sum) : Value();
  };
  for (auto [i, output] : llvm::enumerate(kb.form.outputs)) {
    if (output.isStatistic)
      continue;
    SmallVector<Value> index = eb.apply(output.index, spine);
    emitter.store(emitter.emit(output.value, index), kb.outputBuffer(i),
                  cast<RankedTensorType>(output.value.getType()), index, mask);
  }
  tile::YieldOp::create(kb.builder, kb.loc,
                        liftStatistics(emitter, spine, mask));
}
