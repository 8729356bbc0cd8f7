//===- ThreadCode.cpp - tile values seen by one thread --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ThreadCode.h"
#include "Places.h"
#include "fusec/Dialect/Tile/Transforms/AxisInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;
using tile::Digit;

//===----------------------------------------------------------------------===//
// Index arithmetic; identities are dropped so that the text stays short.
//===----------------------------------------------------------------------===//

Value ThreadCode::constant(Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ThreadCode::add(Location loc, Value lhs, Value rhs) {
  if (matchPattern(lhs, m_Zero()))
    return rhs;
  if (matchPattern(rhs, m_Zero()))
    return lhs;
  return arith::AddIOp::create(builder, loc, lhs, rhs);
}

Value ThreadCode::mul(Location loc, Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs
                  : arith::MulIOp::create(builder, loc, lhs, constant(loc, rhs))
                        .getResult();
}

Value ThreadCode::div(Location loc, Value lhs, int64_t rhs) {
  return rhs == 1
             ? lhs
             : arith::DivUIOp::create(builder, loc, lhs, constant(loc, rhs))
                   .getResult();
}

Value ThreadCode::rem(Location loc, Value lhs, int64_t rhs) {
  return arith::RemUIOp::create(builder, loc, lhs, constant(loc, rhs));
}

Value ThreadCode::placeCoordinate(Location loc, ArrayRef<Digit> digits,
                                  Value place, int64_t axis) {
  Value sum = constant(loc, 0);
  for (auto [i, digit] : llvm::enumerate(digits))
    if (digit.axis == axis && digit.stride && digit.size > 1)
      sum = add(loc, sum,
                mul(loc, digitOf(*this, loc, digits, i, place), digit.stride));
  return sum;
}

Value ThreadCode::coordinate(Location loc, tile::LayoutAttr layout,
                             int64_t axis, Value reg) {
  Value sum = placeCoordinate(loc, layout.getReg(), reg, axis);
  sum = add(loc, sum, placeCoordinate(loc, layout.getLane(), lane, axis));
  sum = add(loc, sum, placeCoordinate(loc, layout.getWarp(), warp, axis));
  return add(loc, sum, placeCoordinate(loc, layout.getCluster(), rank, axis));
}

/// Elements of the first register digit, then threads, then other registers.
Value ThreadCode::slot(Location loc, tile::LayoutAttr layout, Value reg) {
  int64_t run = layout.getReg().empty() ? 1 : layout.getReg().front().size;
  Value thread = add(loc, mul(loc, warp, 32), lane);
  Value group = add(loc, mul(loc, div(loc, reg, run), threads), thread);
  Value first = mul(loc, group, run);
  return run == 1 ? first : add(loc, first, rem(loc, reg, run));
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

// Of the 48 KiB of static shared memory of a block.
static constexpr int64_t kExchangeBytes = 24 * 1024;

static int64_t bytesOf(MemRefType type) {
  return type.getNumElements() *
         int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

bool ThreadCode::hasRoom(MemRefType type) const {
  return exchangeBytes + bytesOf(type) <= kExchangeBytes;
}

Value ThreadCode::exchangeBuffer(Location loc, MemRefType type,
                                 ArrayRef<Value> taken) {
  if (!hasRoom(type))
    for (Value known : exchanges)
      if (known.getType() == type && !llvm::is_contained(taken, known)) {
        simt::BarrierOp::create(builder, loc);
        return known;
      }
  exchangeBytes += bytesOf(type);
  // At the kernel's start, so that it is visible wherever it is used again.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(warp.getDefiningOp());
  exchanges.push_back(simt::SharedOp::create(builder, loc, type));
  return exchanges.back();
}

Value ThreadCode::ownBuffer(Location loc, MemRefType type) {
  exchangeBytes += bytesOf(type);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(warp.getDefiningOp());
  return simt::SharedOp::create(builder, loc, type);
}

Value ThreadCode::makeArray(Location loc, int64_t count, Type element) {
  return memref::AllocaOp::create(builder, loc,
                                  MemRefType::get({count}, element));
}

void ThreadCode::forEachRegister(Location loc, int64_t count,
                                 function_ref<void(Value)> body, int64_t step) {
  scopes.emplace_back();
  if (count <= step) {
    body(constant(loc, 0));
  } else {
    auto loop = scf::ForOp::create(builder, loc, constant(loc, 0),
                                   constant(loc, count), constant(loc, step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  scopes.pop_back();
}

int64_t ThreadCode::findRepeat(tile::LoadOp load) {
  tile::LayoutAttr layout = tile::getLayout(load.getResult().getType());
  ArrayRef<Digit> digits = layout.getReg();
  if (!load->getParentOfType<tile::ContractOp>() || load.getVector() != 1 ||
      digits.size() != 1 || digits[0].stride != 1)
    return 1;
  tile::AxisAnalysis analysis(digits[0].axis);
  tile::AxisInfo info = analysis.get(load.getOffsets());
  int64_t size = digits[0].size;
  if (Value mask = load.getMask(); mask && analysis.get(mask).constancy < size)
    return 1;
  if (info.constancy >= size)
    return size;
  int64_t bytes =
      llvm::divideCeil(load.getResult().getType().getElementTypeBitWidth(), 8);
  int64_t run = size / info.repeat;
  bool isWhole = info.repeat > 1 && run * info.repeat == size &&
                 info.span >= size && run * bytes <= 16 &&
                 info.spanDivisibility >= run && run > 1;
  return isWhole ? info.repeat : 1;
}

SmallVector<Value> ThreadCode::inlineRegion(Region &region, ValueRange args) {
  IRMapping mapping;
  Block &block = region.front();
  mapping.map(block.getArguments(), args);
  // Scalars from around the region: constants, which folding moves out of it.
  auto bring = [&](Value value) {
    if (mapping.contains(value) || value.getParentBlock() == &block)
      return;
    if (Value known = scalars.lookupOrNull(value))
      mapping.map(value, known);
    else if (Operation *constant = value.getDefiningOp())
      builder.clone(*constant, mapping);
  };
  for (Operation &inner : block.without_terminator()) {
    llvm::for_each(inner.getOperands(), bring);
    builder.clone(inner, mapping);
  }
  llvm::for_each(block.getTerminator()->getOperands(), bring);
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  return results;
}

int64_t ThreadCode::stepOf(Operation *access, int64_t vector) {
  // Holes are taken apart by what their loops say of each register.
  return access->getParentOfType<tile::ContractOp>() ? 1 : vector;
}

void ThreadCode::materialize(Value tile) {
  if (arrays.contains(tile))
    return;
  Location loc = tile.getLoc();
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t count =
      isUniform(tile) ? 1 : tile::getLayout(type).getRegisterCount();
  auto load = tile.getDefiningOp<tile::LoadOp>();
  int64_t repeat = load && count > 1 ? findRepeat(load) : 1;
  int64_t vector = load && count > 1 ? load.getVector() : 1;
  if (repeat > 1) {
    vector = count /= repeat;
    repeats[tile] = repeat;
  }
  Value array = makeArray(loc, count, type.getElementType());
  auto fill = [&](Value reg) {
    if (load) {
      Value mask, other, first = mul(loc, reg, repeat);
      if (load.getMask()) {
        mask = element(load.getMask(), first);
        other = element(load.getOther(), first);
      }
      simt::LoadOp::create(builder, loc, scalars.lookup(load.getBuffer()),
                           element(load.getOffsets(), first), array, reg, mask,
                           other, vector);
      return;
    }
    memref::StoreOp::create(builder, loc, emit(tile, reg), array, reg);
  };
  forEachRegister(loc, count, fill, load ? stepOf(load, vector) : 1);
  arrays[tile] = array;
}

Value ThreadCode::element(Value tile, Value reg) {
  auto key = std::make_pair(tile, reg);
  for (const Scope &scope : scopes)
    if (Value known = scope.lookup(key))
      return known;
  Value result = emit(tile, reg);
  if (!scopes.empty())
    scopes.back()[key] = result;
  return result;
}

Value ThreadCode::emitBroadcast(tile::BroadcastOp op, Value reg) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  auto to = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < to.getRank(); ++axis)
    if (from.getDimSize(axis) != to.getDimSize(axis))
      axes.push_back(axis);
  Value source = narrowPlace(
      *this, op.getLoc(), tile::getLayout(to).getReg(),
      [&](const Digit &digit) { return !llvm::is_contained(axes, digit.axis); },
      reg);
  return element(op.getOperand(), source);
}

Value ThreadCode::emit(Value tile, Value reg) {
  Location loc = tile.getLoc();
  if (Value array = arrays.lookup(tile)) {
    bool isSingle = cast<MemRefType>(array.getType()).getDimSize(0) == 1;
    auto repeat = repeats.find(tile);
    Value at = repeat == repeats.end() ? reg : div(loc, reg, repeat->second);
    return memref::LoadOp::create(builder, loc, array,
                                  isSingle ? constant(loc, 0) : at);
  }
  auto window = windows.find(tile);
  if (window != windows.end()) {
    const Window &w = window->second;
    Value group = mul(loc, div(loc, reg, w.strip), w.strip + w.trips - 1);
    Value at = add(loc, add(loc, group, rem(loc, reg, w.strip)), w.iteration);
    return memref::LoadOp::create(builder, loc, w.array, at);
  }
  Operation *op = tile.getDefiningOp();
  if (auto splat = dyn_cast<tile::SplatOp>(op))
    return scalars.lookup(splat.getValue());
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return scalars.lookup(splat.getInput());
  if (auto iota = dyn_cast<tile::IotaOp>(op))
    return coordinate(loc, tile::getLayout(iota.getType()), iota.getAxis(),
                      reg);
  if (auto own = dyn_cast<tile::SlotOp>(op))
    return slot(loc, tile::getLayout(own.getType()), reg);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return emitBroadcast(broadcast, reg);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto value = cast<DenseElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(builder, loc,
                                     value.getSplatValue<TypedAttr>());
  }
  // Elementwise: the same op on elements.
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, tile::getLayout(operand.getType())
                             ? element(operand, reg)
                             : scalars.lookup(operand));
  Operation *scalar = op->cloneWithoutRegions(mapping);
  scalar->getResult(0).setType(
      cast<RankedTensorType>(tile.getType()).getElementType());
  builder.insert(scalar);
  return scalar->getResult(0);
}
