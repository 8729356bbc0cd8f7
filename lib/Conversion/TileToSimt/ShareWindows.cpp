//===- ShareWindows.cpp - one read for neighbouring window rows -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a window of k rows over a strip of s outputs, output r reads row r + i in
// iteration i: k * s reads of k + s - 1 distinct rows. The CUDA compiler looks
// for equal loads only in a short stretch of code, so they are shared here. A
// load qualifies if its offset grows by the same constant from one register of
// the strip to the next as from one iteration to the next, and is not masked.
//===----------------------------------------------------------------------===//
#include "ShareWindows.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;

/// How much `value` grows when what `isLeaf` accepts grows by one; nothing if
/// that is not a constant.
static std::optional<int64_t> growth(Value value,
                                     llvm::function_ref<bool(Value)> isLeaf) {
  if (isLeaf(value))
    return 1;
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  SmallVector<int64_t, 2> parts;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> part = growth(operand, isLeaf);
    if (!part)
      return std::nullopt;
    parts.push_back(*part);
  }
  if (llvm::all_of(parts, [](int64_t part) { return part == 0; }))
    return 0;
  if (isa<arith::AddIOp>(op))
    return parts[0] + parts[1];
  if (isa<arith::SubIOp>(op))
    return parts[0] - parts[1];
  if (isa<tile::SplatOp, tensor::SplatOp>(op))
    return parts[0];
  if (isa<arith::MulIOp>(op))
    if (std::optional<int64_t> by = constantOf(op->getOperand(1)))
      return parts[0] * *by;
  return std::nullopt;
}

/// The common growth of a load that qualifies.
static std::optional<int64_t> sharedGrowth(tile::LoadOp load, scf::ForOp loop) {
  tile::LayoutAttr layout = tile::getLayout(load.getType());
  if (load.getMask() || load.getVector() != 1 || layout.getReg().empty())
    return std::nullopt;
  tile::Digit digit = layout.getReg().front();
  if (digit.size < 2 || digit.stride != 1)
    return std::nullopt;
  std::optional<int64_t> byRegister =
      growth(load.getOffsets(), [&](Value value) {
        auto iota = value.getDefiningOp<tile::IotaOp>();
        return iota && int64_t(iota.getAxis()) == digit.axis;
      });
  std::optional<int64_t> byIteration =
      growth(load.getOffsets(),
             [&](Value value) { return value == loop.getInductionVar(); });
  if (!byRegister || *byRegister == 0 || byRegister != byIteration)
    return std::nullopt;
  return byRegister;
}

SmallVector<tile::LoadOp> fusec::tile_to_simt::shareWindows(scf::ForOp loop,
                                                            ThreadCode &code) {
  SmallVector<tile::LoadOp> shared;
  std::optional<int64_t> trips = constantOf(loop.getUpperBound());
  if (constantOf(loop.getLowerBound()) != 0 ||
      constantOf(loop.getStep()) != 1 || !trips || *trips < 2)
    return shared;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
    std::optional<int64_t> step = sharedGrowth(load, loop);
    if (!step)
      continue;
    Location loc = load.getLoc();
    tile::LayoutAttr layout = tile::getLayout(load.getType());
    int64_t strip = layout.getReg().front().size;
    int64_t span = strip + *trips - 1;
    int64_t count = layout.getRegisterCount() / strip * span;
    Value array = code.makeArray(
        loc, count, cast<RankedTensorType>(load.getType()).getElementType());
    code.scalars.map(loop.getInductionVar(), code.constant(loc, 0));
    code.forEachRegister(loc, count, [&](Value entry) {
      Value first = code.mul(loc, code.div(loc, entry, span), strip);
      Value offset = code.element(load.getOffsets(), first);
      Value along = code.mul(loc, code.rem(loc, entry, span), *step);
      simt::LoadOp::create(
          code.builder, loc, code.scalars.lookup(load.getBuffer()),
          code.add(loc, offset, along), array, entry, Value(), Value(), 1);
    });
    code.windows[load.getResult()] = {array, strip, *trips, Value()};
    shared.push_back(load);
  }
  return shared;
}
