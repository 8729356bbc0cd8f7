//===- KernelBuilder.cpp - stages as LLVM functions -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel walks *units*: rows (all leading indices), or pieces of rows. A
// block is a fixed number of units, so that it is worth a thread's while.
//
//  1. Choose what a unit is.
//  2. Per unit, loop over the remaining dimensions of each stage; the last loop
//     is vector code and a scalar tail.
//  3. Try several ways of using lanes and keep the one with the fewest
//     scattered reads.
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "Blocking.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

/// Lanes along results: two AVX-512 registers of f32, four of AVX2.
static constexpr int64_t kLanes = 32;
/// Lanes of what is left of a row.
static constexpr int64_t kTailLanes = 8;
/// Lanes of blocks of elements (Blocking.cpp).
static constexpr int64_t kBlockLanes = 16;
/// Lanes of sums along the last dimension: enough chains to hide the latency.
static constexpr int64_t kReductionLanes = 32;
/// Work of a block in element operations: about 20 µs.
static constexpr int64_t kBlockWork = 32768;
/// Rows below which a kernel of several stages leaves cores idle.
static constexpr int64_t kMinRows = 16;

namespace {
/// How a kernel uses vector lanes.
enum class LaneMode {
  /// None at all.
  Scalar,
  /// Neighbours in the row-major order of the whole result.
  Linear,
  /// Neighbours along the last dimension.
  Parallel,
  /// Neighbours in the row-major order of the dimensions behind a blocked one.
  Trailing,
  /// Along the last dimension of reductions.
  Reduced,
};

/// The units of a kernel.
struct Units {
  /// Leading dimensions whose index a unit fixes.
  SmallVector<int64_t> rows;
  /// Pieces of the last dimension (or of the linear index), and their length.
  int64_t pieces = 1;
  int64_t pieceLength = 0;
  int64_t lineLength = 0;
  int64_t count = 0;
  int64_t perBlock = 1;
};

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

class KernelBuilder {
public:
  KernelBuilder(ArrayRef<Stage> stages, ArrayRef<Operand> operands,
                Location loc, const CompileOptions &options,
                ArrayRef<LaneMode> modes)
      : stages(stages), operands(operands), loc(loc), options(options),
        modes(modes), mode(modes[0]), builder(loc.getContext()),
        emitter(builder, loc, options) {}

  void build();
  /// False if several stages had better be kernels of their own, each with all
  /// cores.
  bool hasEnoughRows() const {
    return options.batchInvariant || units.count >= kMinRows ||
           totalWork <= 4 * kBlockWork;
  }

  BuiltKernel result;
  ArrayRef<Stage> stages;
  ArrayRef<Operand> operands;
  Location loc;
  const CompileOptions &options;
  ArrayRef<LaneMode> modes; // one per stage
  LaneMode mode;            // of the current stage
  OpBuilder builder;
  KernelEmitter emitter;

private:
  using IndexBody = llvm::function_ref<void(Value)>;

  void chooseUnits();
  void chooseBlock();
  int64_t elementWork();
  LLVM::LLVMFuncOp createBody(LLVM::LLVMFuncOp entry);
  scf::ForOp forRange(Value lower, Value upper, int64_t step, IndexBody body);
  void emitUnit(Value unit);
  void emitBlock(ArrayRef<Value> row);
  void emitSums(const Stage &stage, ArrayRef<Value> leading, Value lower,
                Value upper);
  void emitStage(const Stage &stage, ArrayRef<int64_t> sizes,
                 SmallVectorImpl<Value> &index);
  void emitRange(const Stage &stage, ArrayRef<Value> leading, Value lower,
                 Value upper, bool isLinear);
  void emitElements(const Stage &stage, ValueRange index);
  bool isWritten(Value value) const {
    return llvm::any_of(stages, [&](const Stage &stage) {
      return llvm::is_contained(stage.roots, value);
    });
  }

  /// The buffers of all roots. The emitter sees those of finished stages only:
  /// what is not written yet is computed instead of read.
  llvm::DenseMap<Value, KernelBuffer> results;
  Units units;
  Blocking block;
  // Loops over a block.
  SmallVector<scf::ForOp> jammed;
  int64_t totalWork = 0;
  // Bounds of the piece of the current unit; null for whole rows.
  Value pieceBegin, pieceEnd;
};
} // namespace

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// A guess of the operations behind one result element.
int64_t KernelBuilder::elementWork() {
  int64_t most = 1;
  for (const Stage &stage : stages)
    for (Value root : stage.roots) {
      // Walk what the root pulls until memory.
      SmallVector<Value> open = {root};
      llvm::SmallPtrSet<Operation *, 16> seen;
      int64_t work = 1;
      while (!open.empty()) {
        Operation *op = open.pop_back_val().getDefiningOp();
        auto fusible = dyn_cast_or_null<graph::FusibleOpInterface>(op);
        if (!fusible || !seen.insert(op).second)
          continue;
        int64_t reduced = product(fusible.getIterationSpace().reduced);
        work += fusible.getElementCost() *
                std::max<int64_t>(1, std::min<int64_t>(reduced, 1 << 24));
        for (Value operand : op->getOperands())
          if (!emitter.buffers.contains(operand))
            open.push_back(operand);
      }
      most = std::max(most, std::min<int64_t>(work, int64_t(1) << 32));
    }
  return most;
}

void KernelBuilder::chooseUnits() {
  int64_t work = elementWork();
  auto blocked = [&](int64_t unitElements) {
    int64_t unitWork = std::max<int64_t>(
        1, std::min<int64_t>(unitElements, int64_t(1) << 28) * work);
    units.perBlock = std::max<int64_t>(1, kBlockWork / unitWork);
  };
  if (stages.size() > 1) {
    ArrayRef<int64_t> common = stages[0].shape;
    int64_t largest = 1;
    for (const Stage &stage : stages) {
      size_t equal = 0;
      while (equal < common.size() && equal < stage.shape.size() &&
             common[equal] == stage.shape[equal])
        ++equal;
      common = common.take_front(equal);
      largest = std::max(largest, product(stage.shape));
    }
    units.rows.assign(common.begin(), common.end());
    units.count = product(units.rows);
    totalWork = std::min<int64_t>(largest, int64_t(1) << 28) * work;
    blocked(units.count ? largest / units.count : 1);
    return;
  }
  ArrayRef<int64_t> shape = stages[0].shape;
  int64_t elements = product(shape);
  int64_t piece =
      std::max<int64_t>(kLanes * 4, llvm::alignTo(kBlockWork / work, kLanes));
  if (mode == LaneMode::Linear) {
    units.pieceLength = piece;
    units.pieces = units.count = llvm::divideCeil(elements, piece);
    return;
  }
  if (shape.empty()) {
    units.count = 1;
    return;
  }
  chooseBlock();
  units.rows.assign(shape.begin(), shape.end() - 1);
  units.lineLength = shape.back();
  if (mode == LaneMode::Trailing) {
    units.rows.truncate(block.dim + 1);
    units.lineLength = product(shape.drop_front(block.dim + 1));
  }
  int64_t inBlock = 1;
  if (block && mode != LaneMode::Reduced) {
    units.rows[block.dim] = llvm::divideCeil(shape[block.dim], block.count);
    inBlock = block.count;
    piece =
        std::max<int64_t>(kLanes * 4, llvm::alignTo(piece / inBlock, kLanes));
  }
  units.pieceLength = piece;
  units.pieces = llvm::divideCeil(units.lineLength, piece);
  units.count = product(units.rows) * units.pieces;
  blocked(std::min(piece, units.lineLength) * inBlock);
}

/// Blocks are for kernels of one stage: several go row by row.
void KernelBuilder::chooseBlock() {
  auto isInMemory = [&](Value value) {
    return emitter.buffers.contains(value) && !isWritten(value);
  };
  if (mode == LaneMode::Parallel || mode == LaneMode::Trailing)
    block = blockForLanes(stages[0], isInMemory);
  else if (mode == LaneMode::Reduced)
    block = blockForSums(stages[0], isInMemory);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// void body(noalias ptr per operand, i64 begin, i64 end), called by the entry,
/// so that the code generator knows that buffers do not overlap.
LLVM::LLVMFuncOp KernelBuilder::createBody(LLVM::LLVMFuncOp entry) {
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  SmallVector<Type> types(operands.size(), pointer);
  types.append({i64, i64});
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto body =
      LLVM::LLVMFuncOp::create(builder, loc, (kKernelName + "_body").str(),
                               type, LLVM::Linkage::Internal);
  for (unsigned i = 0; i < operands.size(); ++i)
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                    builder.getUnitAttr());

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry.addEntryBlock(builder));
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < operands.size(); ++i) {
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointer, pointer, entry.getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value argument = LLVM::LoadOp::create(builder, loc, pointer, slot);
    arguments.push_back(LLVM::LoadOp::create(builder, loc, pointer, argument));
  }
  arguments.append({entry.getArgument(1), entry.getArgument(2)});
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return body;
}

void KernelBuilder::build() {
  MLIRContext *context = builder.getContext();
  result.module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(result.module->getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, i64, i64});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, kKernelName, type);
  LLVM::LLVMFuncOp body = createBody(entry);
  builder.setInsertionPointToStart(body.addEntryBlock(builder));

  bool severalStages = stages.size() > 1;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto tensor = cast<RankedTensorType>(operand.value.getType());
    bool isResult = isWritten(operand.value);
    auto &buffer = isResult ? results : emitter.buffers;
    buffer[operand.value] = {body.getArgument(i), tensor.getElementType(),
                             operand.isWide, severalStages && isResult,
                             SmallVector<int64_t>(tensor.getShape())};
    result.operands.push_back(operand);
  }
  chooseUnits();
  // A grid has at most 2^31 - 1 blocks.
  units.perBlock = std::max(units.perBlock, units.count >> 30);
  result.blocks = llvm::divideCeil(units.count, units.perBlock);
  if (options.vectorize)
    emitter.reductionLanes = kReductionLanes;

  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      value);
  };
  Value begin = toIndex(body.getArgument(operands.size()));
  Value end = toIndex(body.getArgument(operands.size() + 1));
  graph::ElementBuilder eb = emitter.elements();
  Value first = eb.mulIndex(begin, units.perBlock);
  Value last =
      arith::MinUIOp::create(builder, loc, eb.mulIndex(end, units.perBlock),
                             emitter.index(units.count));
  forRange(first, last, 1, [&](Value unit) { emitUnit(unit); });
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  for (scf::ForOp loop : jammed)
    jam(loop, block.count);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

scf::ForOp KernelBuilder::forRange(Value lower, Value upper, int64_t step,
                                   IndexBody body) {
  auto loop =
      scf::ForOp::create(builder, loc, lower, upper, emitter.index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  // The builder of the loop has made a terminator; code goes before it.
  loop.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(loop.getBody());
  body(loop.getInductionVar());
  scf::YieldOp::create(builder, loc);
  return loop;
}

void KernelBuilder::emitUnit(Value unit) {
  graph::ElementBuilder eb = emitter.elements();
  Value rowNumber = unit;
  if (units.pieceLength > 0) {
    Value piece = eb.remIndex(unit, units.pieces);
    rowNumber = eb.divIndex(unit, units.pieces);
    int64_t length =
        mode == LaneMode::Linear ? product(stages[0].shape) : units.lineLength;
    pieceBegin = eb.mulIndex(piece, units.pieceLength);
    pieceEnd = arith::MinUIOp::create(
        builder, loc, eb.addIndex(pieceBegin, units.pieceLength),
        emitter.index(length));
  }
  if (mode == LaneMode::Linear) {
    // One row, cut into pieces: the unit is the piece.
    emitRange(stages[0], {}, pieceBegin, pieceEnd, /*isLinear=*/true);
    return;
  }
  SmallVector<Value> row = eb.delinearize(rowNumber, units.rows);
  if (units.rows.empty())
    row.clear();
  emitter.setRow(row);
  if (block && mode != LaneMode::Reduced) {
    emitBlock(row);
    return;
  }
  for (auto [stage, stageMode] : llvm::zip(stages, modes)) {
    mode = stageMode;
    SmallVector<Value> index(row);
    emitStage(stage, ArrayRef(stage.shape).drop_front(row.size()), index);
    for (Value root : stage.roots)
      emitter.buffers[root] = results.lookup(root);
  }
}

/// The elements of a block, for the pieces of their lines: all in one loop, the
/// last ones of an uneven dimension one by one.
void KernelBuilder::emitBlock(ArrayRef<Value> row) {
  int64_t size = stages[0].shape[block.dim], left = size % block.count;
  graph::ElementBuilder eb = emitter.elements();
  Value begin = eb.mulIndex(row[block.dim], block.count);
  auto emitSome = [&](int64_t count) {
    return forRange(emitter.index(0), emitter.index(count), 1, [&](Value at) {
      SmallVector<Value> index(row);
      index[block.dim] = emitter.elements().addIndex(begin, at);
      emitRange(stages[0], index, pieceBegin, pieceEnd, /*isLinear=*/false);
    });
  };
  if (left == 0) {
    jammed.push_back(emitSome(block.count));
    return;
  }
  Value isWhole =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                            row[block.dim], emitter.index(size / block.count));
  auto either = scf::IfOp::create(builder, loc, isWhole, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(either.thenYield());
  jammed.push_back(emitSome(block.count));
  builder.setInsertionPoint(either.elseYield());
  emitSome(left);
}

/// Elements of a line, each the sum of many lanes: blocks of them, then what is
/// left.
void KernelBuilder::emitSums(const Stage &stage, ArrayRef<Value> leading,
                             Value lower, Value upper) {
  auto emitAt = [&](Value at) {
    SmallVector<Value> index(leading);
    index.push_back(at);
    emitElements(stage, index);
  };
  graph::ElementBuilder eb = emitter.elements();
  Value length = arith::SubIOp::create(builder, loc, upper, lower);
  Value whole = eb.mulIndex(eb.divIndex(length, block.count), block.count);
  Value middle = eb.addIndex(lower, whole);
  forRange(lower, middle, block.count, [&](Value first) {
    jammed.push_back(forRange(
        emitter.index(0), emitter.index(block.count), 1,
        [&](Value at) { emitAt(emitter.elements().addIndex(first, at)); }));
  });
  forRange(middle, upper, 1, emitAt);
}

void KernelBuilder::emitStage(const Stage &stage, ArrayRef<int64_t> sizes,
                              SmallVectorImpl<Value> &index) {
  if (sizes.empty()) {
    emitElements(stage, index);
    return;
  }
  if (sizes.size() == 1) {
    Value lower = pieceBegin ? pieceBegin : emitter.index(0);
    Value upper = pieceEnd ? pieceEnd : emitter.index(sizes[0]);
    if (block) {
      emitSums(stage, index, lower, upper);
      return;
    }
    emitRange(stage, index, lower, upper, /*isLinear=*/false);
    return;
  }
  Value lower = emitter.index(0), upper = emitter.index(sizes[0]);
  forRange(lower, upper, 1, [&](Value at) {
    index.push_back(at);
    emitStage(stage, sizes.drop_front(), index);
    index.pop_back();
  });
}

/// The innermost loop: `lower` is a multiple of the lanes.
void KernelBuilder::emitRange(const Stage &stage, ArrayRef<Value> leading,
                              Value lower, Value upper, bool isLinear) {
  auto emitAt = [&](Value at) {
    graph::ElementBuilder eb = emitter.elements();
    SmallVector<Value> index;
    if (isLinear) {
      index = eb.delinearize(at, stage.shape);
      emitter.setLinear(at, index, stage.shape);
    } else if (mode == LaneMode::Trailing) {
      ArrayRef<int64_t> trailing =
          ArrayRef(stage.shape).drop_front(leading.size());
      SmallVector<Value> line = eb.delinearize(at, trailing);
      emitter.setLinear(at, line, trailing);
      for (Value part : leading)
        index.push_back(emitter.splat(part));
      llvm::append_range(index, line);
    } else {
      for (Value part : leading)
        index.push_back(emitter.splat(part));
      index.push_back(at);
    }
    emitElements(stage, index);
  };
  // Pieces are multiples of kLanes, so what is left of the whole is left of the
  // last piece too.
  int64_t left = isLinear                     ? product(stage.shape)
                 : mode == LaneMode::Trailing ? units.lineLength
                                              : stage.shape.back();
  bool useLanes = mode == LaneMode::Parallel || mode == LaneMode::Linear ||
                  mode == LaneMode::Trailing;
  for (int64_t lanes : {block ? kBlockLanes : kLanes, kTailLanes}) {
    // A loop of no iterations counts as one when modes are compared.
    if (!useLanes || (left < lanes && !options.batchInvariant))
      continue;
    graph::ElementBuilder eb = emitter.elements();
    Value length = arith::SubIOp::create(builder, loc, upper, lower);
    Value whole = eb.mulIndex(eb.divIndex(length, lanes), lanes);
    Value middle = eb.addIndex(lower, whole);
    forRange(lower, middle, lanes, [&](Value at) {
      emitter.setLanes(lanes);
      emitAt(emitter.laneIndex(at, lanes));
      emitter.setLanes(1);
    });
    lower = middle;
    left %= lanes;
  }
  if (useLanes && left == 0 && !options.batchInvariant)
    return;
  // Elements of the tail sum in the same order as the others.
  llvm::SaveAndRestore<int64_t> tailLanes(
      emitter.reductionLanes, useLanes ? 1 : emitter.reductionLanes);
  forRange(lower, upper, 1, emitAt);
}

void KernelBuilder::emitElements(const Stage &stage, ValueRange index) {
  SmallVector<Value> elements;
  for (Value root : stage.roots)
    elements.push_back(emitter.emit(root, index, {}, /*rounded=*/false));
  for (auto [root, element] : llvm::zip(stage.roots, elements))
    emitter.store(element, results.lookup(root), index);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Builds one stage in `mode`, keeps it in `best` if it scatters less than
/// `fewest`. Fails if an op gives no code.
static LogicalResult tryMode(const Stage &stage, ArrayRef<Operand> operands,
                             Location loc, const CompileOptions &options,
                             LaneMode mode, int64_t &fewest, LaneMode &bestMode,
                             std::optional<BuiltKernel> &best) {
  KernelBuilder kernel(stage, operands, loc, options, mode);
  kernel.build();
  if (kernel.emitter.failed)
    return emitError(loc) << "an op has no element form for the host";
  if (kernel.emitter.budget < 0 || kernel.emitter.gathers >= fewest)
    return success();
  fewest = kernel.emitter.gathers;
  bestMode = mode;
  best = std::move(kernel.result);
  return success();
}

FailureOr<std::optional<BuiltKernel>>
host::buildKernel(ArrayRef<Stage> stages, ArrayRef<Operand> operands,
                  Location loc, const CompileOptions &options) {
  bool isSingle = stages.size() == 1;
  SmallVector<LaneMode> candidates = {LaneMode::Scalar};
  if (options.vectorize)
    candidates = {LaneMode::Parallel, LaneMode::Reduced};
  if (options.vectorize && isSingle) {
    candidates.insert(candidates.begin(), LaneMode::Linear);
    auto isInMemory = [&](Value value) {
      return !llvm::is_contained(stages[0].roots, value) &&
             llvm::any_of(operands, [&](const Operand &operand) {
               return operand.value == value;
             });
    };
    if (blockForLanes(stages[0], isInMemory))
      candidates = {LaneMode::Trailing, LaneMode::Parallel, LaneMode::Linear,
                    LaneMode::Reduced};
  }
  SmallVector<LaneMode> modes;
  for (const Stage &stage : stages) {
    std::optional<BuiltKernel> best;
    int64_t fewest = std::numeric_limits<int64_t>::max();
    modes.push_back(LaneMode::Scalar);
    for (LaneMode mode : candidates) {
      if (failed(tryMode(stage, operands, loc, options, mode, fewest,
                         modes.back(), best)))
        return failure();
      if (fewest == 0)
        break;
    }
    if (isSingle || !best)
      return best;
  }
  KernelBuilder kernel(stages, operands, loc, options, modes);
  kernel.build();
  if (kernel.emitter.leftRow || kernel.emitter.budget < 0 ||
      !kernel.hasEnoughRows())
    return std::optional<BuiltKernel>();
  return std::optional<BuiltKernel>(std::move(kernel.result));
}
