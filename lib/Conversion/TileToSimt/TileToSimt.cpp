//===- TileToSimt.cpp - from block programs to thread programs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a tile program in order and emits what one thread does:
//  1. decide which tiles become register arrays (see `needsArray`);
//  2. ops with effects (store, reduce, loop, barrier) are *sinks*: each opens
//     loops over its registers and pulls the elements that it needs;
//  3. loads become arrays where they stand, so that all loads of a straight
//     piece of code are issued before the first use.
//===----------------------------------------------------------------------===//
#include "fusec/Conversion/TileToSimt.h"
#include "LowerCluster.h"
#include "LowerReduce.h"
#include "LowerSelect.h"
#include "Places.h"
#include "ShareWindows.h"
#include "ThreadCode.h"
#include "WarpFactors.h"
#include "fusec/Dialect/Tile/IR/Shift.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;

namespace {

bool isTile(Value value) { return bool(tile::getLayout(value.getType())); }

/// Lazy ops: repeated in every loop that needs them.
bool isLazyOp(Operation *op) {
  return isa<tile::IotaOp, tile::SlotOp, tile::SplatOp, tensor::SplatOp,
             tile::BroadcastOp>(op) ||
         (isMemoryEffectFree(op) && op->getNumResults() == 1 &&
          op->getNumRegions() == 0 && op->hasTrait<OpTrait::Elementwise>()) ||
         isa<arith::ConstantOp>(op);
}

/// Cheap enough to repeat rather than to keep in registers.
bool isCheap(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa<tile::IotaOp, tile::SlotOp, tile::SplatOp, tensor::SplatOp,
          tile::BroadcastOp, arith::ConstantOp, arith::ExtFOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return true;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return element.isIndex() || element.isInteger(1);
}

class KernelLowering {
public:
  KernelLowering(OpBuilder &builder) : code(builder) {}
  LogicalResult run(tile::KernelOp kernel, simt::KernelOp result);

private:
  bool needsArray(Value value);
  Operation *sinkOf(Value value);
  LogicalResult lowerBlock(Block &block);
  LogicalResult lowerNested(Block &block);
  LogicalResult lowerOp(Operation *op);
  LogicalResult lowerFor(scf::ForOp loop);
  LogicalResult lowerIf(scf::IfOp op);
  LogicalResult lowerContract(tile::ContractOp op);
  /// What the hole yields are scalars, where it has one element, unless
  /// `yieldsElements`, and arrays.
  LogicalResult lowerHole(Region &from, Region &to, bool yieldsElements);
  void lowerStore(tile::StoreOp store);
  void lowerShift(tile::ShiftOp shift);
  void lowerCopy(tile::CopyOp copy);
  void lowerTicket(tile::TicketOp op);
  Value spread(Value tile, int64_t count);
  void assignLoopArrays(scf::ForOp loop, ValueRange values);
  void takeOfFirstLane(Value tile);

  ThreadCode code;
  int64_t cluster = 1;
  // The single sink that a lazy value feeds; null when there are several.
  DenseMap<Value, Operation *> sinks;
  DenseMap<Value, bool> arrayness;
  DenseSet<Value> warpFactors;
};

} // namespace

//===----------------------------------------------------------------------===//
// Arrays or lazy
//===----------------------------------------------------------------------===//

Operation *KernelLowering::sinkOf(Value value) {
  auto [it, isNew] = sinks.try_emplace(value, nullptr);
  if (!isNew)
    return it->second;
  Operation *single = nullptr;
  bool several = false;
  for (Operation *user : value.getUsers()) {
    Operation *sink = user;
    if (user->getBlock() != value.getParentBlock())
      several = true;
    else if (isLazyOp(user) && !needsArray(user->getResult(0)))
      sink = sinkOf(user->getResult(0));
    several |= !sink || (single && single != sink);
    single = sink;
  }
  return sinks[value] = several ? nullptr : single;
}

bool KernelLowering::needsArray(Value value) {
  auto it = arrayness.find(value);
  if (it != arrayness.end())
    return it->second;
  // A uniform value is one register: converted once, not once per use.
  bool isIndex =
      cast<RankedTensorType>(value.getType()).getElementType().isIntOrIndex();
  bool result = isa_and_nonnull<tile::LoadOp>(value.getDefiningOp()) ||
                (!isCheap(value) && !sinkOf(value)) ||
                (!isIndex && code.isUniform(value) &&
                 !isa<arith::ConstantOp, tile::SplatOp, tensor::SplatOp,
                      tile::BroadcastOp>(value.getDefiningOp()));
  return arrayness[value] = result;
}

//===----------------------------------------------------------------------===//
// Sinks
//===----------------------------------------------------------------------===//

/// True in exactly one of the threads that hold copies of an element; null if
/// no digit replicates.
static Value firstCopy(ThreadCode &code, Location loc,
                       tile::LayoutAttr layout) {
  auto replicates = [](const tile::Digit &digit) { return !digit.stride; };
  Value inBlock = conjunction(
      code, loc, areZero(code, loc, layout.getLane(), replicates, code.lane),
      areZero(code, loc, layout.getWarp(), replicates, code.warp));
  if (!code.rank)
    return inBlock;
  // Without digits of its own every block of the cluster holds the tile.
  if (layout.getClusterCount() == 1)
    return conjunction(code, loc, inBlock,
                       arith::CmpIOp::create(code.builder, loc,
                                             arith::CmpIPredicate::eq,
                                             code.rank, code.constant(loc, 0)));
  return conjunction(
      code, loc, inBlock,
      areZero(code, loc, layout.getCluster(), replicates, code.rank));
}

/// An array of `count` copies of a uniform element.
Value KernelLowering::spread(Value tile, int64_t count) {
  Location loc = tile.getLoc();
  Value array = code.makeArray(
      loc, count, cast<RankedTensorType>(tile.getType()).getElementType());
  code.forEachRegister(loc, count, [&](Value reg) {
    memref::StoreOp::create(code.builder, loc, code.element(tile, reg), array,
                            reg);
  });
  return array;
}

/// Replaces what is known to be the same in all lanes by what the compiler
/// knows to be.
void KernelLowering::takeOfFirstLane(Value tile) {
  Location loc = tile.getLoc();
  Value array = code.arrays.lookup(tile), zero = code.constant(loc, 0);
  Value value = memref::LoadOp::create(code.builder, loc, array, zero);
  value = simt::ShuffleFirstOp::create(code.builder, loc, value);
  memref::StoreOp::create(code.builder, loc, value, array, zero);
}

void KernelLowering::lowerStore(tile::StoreOp store) {
  Location loc = store.getLoc();
  tile::LayoutAttr layout = tile::getLayout(store.getValue().getType());
  int64_t count = layout.getRegisterCount();
  // The values first, then all stores: a store would keep later loads back.
  code.materialize(store.getValue());
  Value array = code.arrays.lookup(store.getValue());
  if (cast<MemRefType>(array.getType()).getDimSize(0) != count)
    array = spread(store.getValue(), count);
  Value copy = firstCopy(code, loc, layout);
  auto put = [&](Value reg) {
    Value mask;
    if (store.getMask())
      mask = code.element(store.getMask(), reg);
    mask = conjunction(code, loc, copy, mask);
    simt::StoreOp::create(code.builder, loc,
                          code.scalars.lookup(store.getBuffer()),
                          code.element(store.getOffsets(), reg), array, reg,
                          mask, store.getVector());
  };
  code.forEachRegister(loc, count, put,
                       ThreadCode::stepOf(store, store.getVector()));
}

/// Whether the hardware copies `bytes` at once in the background.
static bool isCopySize(int64_t bytes) {
  return bytes == 4 || bytes == 8 || bytes == 16;
}

void KernelLowering::lowerCopy(tile::CopyOp copy) {
  Location loc = copy.getLoc();
  Type element = copy.getElementType();
  int64_t vector = copy.getVector();
  int64_t count =
      tile::getLayout(copy.getOffsets().getType()).getRegisterCount();
  Value source = code.scalars.lookup(copy.getSource());
  Value target = code.scalars.lookup(copy.getTarget());
  auto maskAt = [&](Value reg) {
    return copy.getMask() ? code.element(copy.getMask(), reg) : Value();
  };
  if (isCopySize(vector *
                 llvm::divideCeil(element.getIntOrFloatBitWidth(), 8))) {
    code.forEachRegister(loc, count / vector, [&](Value group) {
      Value reg = code.mul(loc, group, vector);
      simt::CopyOp::create(
          code.builder, loc, source, code.element(copy.getOffsets(), reg),
          target, code.element(copy.getPlaces(), reg), maskAt(reg), vector);
    });
    return;
  }
  // Narrow elements at odd places go through registers.
  Value array = code.makeArray(loc, count, element);
  auto zero = cast<TypedAttr>(code.builder.getZeroAttr(element));
  code.forEachRegister(loc, count, [&](Value reg) {
    Value mask = maskAt(reg), other;
    if (mask)
      other = arith::ConstantOp::create(code.builder, loc, zero);
    simt::LoadOp::create(code.builder, loc, source,
                         code.element(copy.getOffsets(), reg), array, reg, mask,
                         other, vector);
  });
  code.forEachRegister(loc, count, [&](Value reg) {
    simt::StoreOp::create(code.builder, loc, target,
                          code.element(copy.getPlaces(), reg), array, reg,
                          Value(), vector);
  });
}

void KernelLowering::lowerShift(tile::ShiftOp shift) {
  Location loc = shift.getLoc();
  auto type = cast<RankedTensorType>(shift.getType());
  int64_t count = tile::getLayout(type).getRegisterCount();
  int64_t run = shift.getRun();
  code.materialize(shift.getOperand());
  Value array = code.makeArray(loc, count, type.getElementType());
  code.arrays[shift.getResult()] = array;
  for (int64_t reg = 0; reg < count; ++reg) {
    // Along the axis: element `at` of the run, `lanes` lanes further.
    int64_t moved = reg % run + int64_t(shift.getBy());
    int64_t lanes = llvm::divideFloorSigned(moved, run);
    if (lanes && !tile::crossesLanes(shift)) // unspecified
      lanes = 0, moved = reg % run;
    Value source = code.constant(loc, reg - reg % run + moved - lanes * run);
    Value value = code.element(shift.getOperand(), source);
    if (lanes)
      value = simt::ShuffleShiftOp::create(code.builder, loc, value, lanes);
    memref::StoreOp::create(code.builder, loc, value, array,
                            code.constant(loc, reg));
  }
}

// One thread draws for the block; the barriers order what the others wrote
// before and read afterwards around it.
void KernelLowering::lowerTicket(tile::TicketOp op) {
  Location loc = op.getLoc();
  Type number = code.builder.getI32Type();
  auto type =
      MemRefType::get({1}, number, MemRefLayoutAttrInterface(),
                      code.builder.getI64IntegerAttr(tile::kSharedSpace));
  Value drawn = simt::SharedOp::create(code.builder, loc, type);
  simt::BarrierOp::create(code.builder, loc);
  Value zero = code.constant(loc, 0);
  auto isZero = [&](Value place) {
    return arith::CmpIOp::create(code.builder, loc, arith::CmpIPredicate::eq,
                                 place, zero);
  };
  Value first = arith::AndIOp::create(code.builder, loc, isZero(code.lane),
                                      isZero(code.warp));
  auto branch = scf::IfOp::create(code.builder, loc, first);
  {
    OpBuilder::InsertionGuard guard(code.builder);
    code.builder.setInsertionPoint(branch.thenYield());
    Value ticket = simt::TicketOp::create(
        code.builder, loc, number, code.scalars.lookup(op.getCounters()),
        code.scalars.lookup(op.getIndex()), op.getCount());
    memref::StoreOp::create(code.builder, loc, ticket, drawn, zero);
  }
  simt::BarrierOp::create(code.builder, loc);
  Value ticket = memref::LoadOp::create(code.builder, loc, drawn, zero);
  Value last = arith::ConstantIntOp::create(code.builder, loc, number,
                                            int64_t(op.getCount()) - 1);
  code.scalars.map(op.getResult(),
                   arith::CmpIOp::create(code.builder, loc,
                                         arith::CmpIPredicate::eq, ticket, last)
                       .getResult());
}

/// Stores `values` (one per tile iteration argument) into the loop's arrays.
void KernelLowering::assignLoopArrays(scf::ForOp loop, ValueRange values) {
  Location loc = loop.getLoc();
  SmallVector<std::pair<Value, Value>> pending; // value, array
  int64_t count = -1;
  bool mixed = false;
  for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), values)) {
    if (!isTile(arg) || arg == value)
      continue;
    int64_t registers = tile::getLayout(arg.getType()).getRegisterCount();
    mixed |= count != -1 && count != registers;
    count = registers;
    pending.push_back({value, code.arrays.lookup(arg)});
  }
  // Tiles of different register counts may read each other's old values.
  if (mixed)
    for (auto [value, array] : pending)
      code.materialize(value);
  auto assign = [&](ArrayRef<std::pair<Value, Value>> group) {
    int64_t registers =
        tile::getLayout(group.front().first.getType()).getRegisterCount();
    code.forEachRegister(loc, registers, [&](Value reg) {
      SmallVector<Value> elements;
      for (auto [value, array] : group)
        elements.push_back(code.element(value, reg));
      for (auto [element, pair] : llvm::zip(elements, group))
        memref::StoreOp::create(code.builder, loc, element, pair.second, reg);
    });
  };
  if (pending.empty())
    return;
  if (!mixed)
    return assign(pending);
  for (const auto &pair : pending)
    assign(pair);
}

LogicalResult KernelLowering::lowerFor(scf::ForOp loop) {
  Location loc = loop.getLoc();
  SmallVector<Value> scalarInits;
  for (auto [init, arg, result] : llvm::zip(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (!isTile(arg)) {
      scalarInits.push_back(code.scalars.lookup(init));
      continue;
    }
    Value array =
        code.makeArray(loc, tile::getLayout(arg.getType()).getRegisterCount(),
                       cast<RankedTensorType>(arg.getType()).getElementType());
    code.arrays[arg] = array;
    code.arrays[result] = array;
  }
  assignLoopArrays(loop, loop.getInitArgs());
  SmallVector<tile::LoadOp> windows = shareWindows(loop, code);
  auto lowered = scf::ForOp::create(
      code.builder, loc, code.scalars.lookup(loop.getLowerBound()),
      code.scalars.lookup(loop.getUpperBound()),
      code.scalars.lookup(loop.getStep()), scalarInits);
  code.scalars.map(loop.getInductionVar(), lowered.getInductionVar());
  for (tile::LoadOp load : windows)
    code.windows[load.getResult()].iteration = lowered.getInductionVar();
  unsigned next = 0;
  for (auto [arg, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults())) {
    if (isTile(arg))
      continue;
    code.scalars.map(arg, lowered.getRegionIterArg(next));
    code.scalars.map(result, lowered.getResult(next++));
  }
  OpBuilder::InsertionGuard guard(code.builder);
  Block *body = lowered.getBody();
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  code.builder.setInsertionPointToEnd(body);
  auto outside = code.arrays;
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  ValueRange yielded = loop.getBody()->getTerminator()->getOperands();
  assignLoopArrays(loop, yielded);
  SmallVector<Value> scalarYields;
  for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), yielded))
    if (!isTile(arg))
      scalarYields.push_back(code.scalars.lookup(value));
  scf::YieldOp::create(code.builder, loc, scalarYields);
  code.arrays = std::move(outside); // as in lowerNested
  return success();
}

LogicalResult KernelLowering::lowerIf(scf::IfOp op) {
  if (op.getNumResults())
    return op.emitOpError("in a tile program must not have results");
  auto lowered = scf::IfOp::create(
      code.builder, op.getLoc(), code.scalars.lookup(op.getCondition()),
      /*withElseRegion=*/!op.getElseRegion().empty());
  OpBuilder::InsertionGuard guard(code.builder);
  code.builder.setInsertionPoint(lowered.thenYield());
  if (failed(lowerNested(*op.thenBlock())))
    return failure();
  if (op.getElseRegion().empty())
    return success();
  code.builder.setInsertionPoint(lowered.elseYield());
  return lowerNested(*op.elseBlock());
}

//===----------------------------------------------------------------------===//
// Holes
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerHole(Region &from, Region &to,
                                        bool yieldsElements) {
  OpBuilder::InsertionGuard guard(code.builder);
  // Constants are shared between holes, their arrays are not.
  auto outside = code.arrays;
  Block &block = to.emplaceBlock();
  for (BlockArgument arg : from.getArguments()) {
    if (!isTile(arg)) {
      code.scalars.map(arg, block.addArgument(arg.getType(), arg.getLoc()));
      continue;
    }
    auto type = cast<RankedTensorType>(arg.getType());
    code.arrays[arg] = block.addArgument(
        MemRefType::get({tile::getLayout(type).getRegisterCount()},
                        type.getElementType()),
        arg.getLoc());
  }
  code.builder.setInsertionPointToStart(&block);
  if (failed(lowerBlock(from.front())))
    return failure();
  Operation *end = from.front().getTerminator();
  auto registersOf = [](Value value) {
    return isTile(value) ? tile::getLayout(value.getType()).getRegisterCount()
                         : 1;
  };
  SmallVector<Value> results;
  for (Value value : end->getOperands()) {
    if (yieldsElements || registersOf(value) > 1) {
      code.materialize(value);
      results.push_back(code.repeats.contains(value)
                            ? spread(value, registersOf(value))
                            : code.arrays.lookup(value));
      continue;
    }
    code.forEachRegister(end->getLoc(), 1, [&](Value reg) {
      results.push_back(isTile(value) ? code.element(value, reg)
                                      : code.scalars.lookup(value));
    });
  }
  simt::YieldOp::create(code.builder, end->getLoc(), results);
  code.arrays = std::move(outside);
  return success();
}

LogicalResult KernelLowering::lowerContract(tile::ContractOp op) {
  auto base = [&](Value buffer) {
    return buffer ? code.scalars.lookup(buffer) : Value();
  };
  auto states = llvm::map_to_vector(op.getStates(), base);
  auto counters = llvm::map_to_vector(op.getCounters(), base);
  auto lowered = simt::ContractOp::create(
      code.builder, op.getLoc(), code.scalars.lookup(op.getBatch()),
      code.scalars.lookup(op.getM()), code.scalars.lookup(op.getN()),
      code.scalars.lookup(op.getK()), base(op.getLhsBase()),
      base(op.getRhsBase()), base(op.getPairBase()), states, counters,
      op.getRowStates(), op.getElementType(), op.getConfig(), op.getLhsVector(),
      op.getLhsOuter(), op.getRhsVector(), op.getRhsOuter(),
      op.getLhsMatrixAttr(), op.getRhsMatrixAttr(), op.getStatistics().size());
  for (auto [from, to] : llvm::zip(op->getRegions(), lowered->getRegions())) {
    bool isElements = (&from == &op.getLhs() && !op.getLhsBase()) ||
                      (&from == &op.getRhs() && !op.getRhsBase());
    if (failed(lowerHole(from, to, isElements)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerOp(Operation *op) {
  Location loc = op->getLoc();
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return lowerStore(store), success();
  if (auto shift = dyn_cast<tile::ShiftOp>(op))
    return lowerShift(shift), success();
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    return lowerCopy(copy), success();
  if (isa<tile::CopyCommitOp>(op))
    return simt::CopyCommitOp::create(code.builder, loc), success();
  if (auto wait = dyn_cast<tile::CopyWaitOp>(op))
    return simt::CopyWaitOp::create(code.builder, loc, wait.getPending()),
           success();
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return lowerReduce(reduce, code);
  if (auto select = dyn_cast<tile::SelectOp>(op))
    return lowerSelect(select, code);
  if (auto ticket = dyn_cast<tile::TicketOp>(op))
    return lowerTicket(ticket), success();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return lowerIf(branch);
  if (auto contract = dyn_cast<tile::ContractOp>(op))
    return lowerContract(contract);
  if (isa<tile::BarrierOp>(op))
    return simt::BarrierOp::create(code.builder, loc), success();
  if (auto barrier = dyn_cast<tile::GridBarrierOp>(op))
    return simt::GridBarrierOp::create(
               code.builder, loc, code.scalars.lookup(barrier.getCounters()),
               barrier.getResident()),
           success();
  if (auto size = dyn_cast<tile::GridSizeOp>(op)) {
    code.scalars.map(size.getResult(),
                     simt::GridSizeOp::create(code.builder, loc, size.getType())
                         .getResult());
    return success();
  }
  if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
    code.scalars.map(alloc.getResult(),
                     simt::SharedOp::create(code.builder, loc, alloc.getType(),
                                            alloc.getDynamic())
                         .getResult());
    return success();
  }
  if (auto id = dyn_cast<tile::BlockIdOp>(op)) {
    Value block = simt::BlockIdOp::create(code.builder, loc, id.getType(),
                                          id.getDimension());
    if (id.getDimension() == 0)
      block = code.div(loc, block, cluster);
    code.scalars.map(id.getResult(), block);
    return success();
  }
  if (op->getNumResults() == 1 && isTile(op->getResult(0))) {
    if (!isa<tile::LoadOp>(op) && !isLazyOp(op))
      return op->emitOpError("has no thread code: expected an elementwise op "
                             "or an op of the tile dialect");
    if (needsArray(op->getResult(0)) &&
        !code.windows.contains(op->getResult(0))) {
      code.materialize(op->getResult(0));
      if (warpFactors.contains(op->getResult(0)))
        takeOfFirstLane(op->getResult(0));
    }
    return success();
  }
  if (!op->getNumRegions() && isMemoryEffectFree(op)) {
    code.builder.clone(*op, code.scalars);
    return success();
  }
  return op->emitOpError("has no thread code");
}

LogicalResult KernelLowering::lowerNested(Block &block) {
  // Arrays made inside do not exist outside, whatever value they hold.
  auto outside = code.arrays;
  LogicalResult result = lowerBlock(block);
  code.arrays = std::move(outside);
  return result;
}

LogicalResult KernelLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (failed(lowerOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult KernelLowering::run(tile::KernelOp kernel,
                                  simt::KernelOp result) {
  Block &from = kernel.getBody().front();
  Block &to = result.getBody().front();
  OpBuilder::InsertionGuard guard(code.builder);
  code.builder.setInsertionPointToStart(&to);
  for (auto [source, target] :
       llvm::zip(from.getArguments(), to.getArguments()))
    code.scalars.map(source, target);
  Type index = code.builder.getIndexType();
  code.lane = simt::LaneOp::create(code.builder, kernel.getLoc(), index);
  code.warp = simt::WarpOp::create(code.builder, kernel.getLoc(), index);
  code.threads = kernel.getThreads();
  warpFactors = findWarpFactors(kernel);
  cluster = kernel.getCluster().value_or(1);
  if (cluster > 1) {
    code.rank =
        simt::ClusterRankOp::create(code.builder, kernel.getLoc(), index);
    beginCluster(kernel, code);
  }
  return lowerBlock(from);
}

FailureOr<simt::KernelOp> fusec::lowerTileKernel(tile::KernelOp kernel,
                                                 bool wideOffsets) {
  OpBuilder builder(kernel);
  SmallVector<int64_t> grid(kernel.getGrid());
  grid.front() *= int64_t(kernel.getCluster().value_or(1));
  auto result = simt::KernelOp::create(
      builder, kernel.getLoc(), kernel.getSymName(), kernel.getThreads(),
      kernel.getReadOnly(), grid, kernel.getExtents(), wideOffsets,
      kernel.getScratchAttr(), kernel.getKeptAttr(), kernel.getClusterAttr());
  Block &body = result.getBody().emplaceBlock();
  for (BlockArgument arg : kernel.getBody().getArguments())
    body.addArgument(arg.getType(), arg.getLoc());
  if (failed(KernelLowering(builder).run(kernel, result))) {
    result.erase();
    return failure();
  }
  return result;
}
