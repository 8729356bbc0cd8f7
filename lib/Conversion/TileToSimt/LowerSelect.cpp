//===- LowerSelect.cpp - the greatest integers along an axis --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every element of the list that a thread holds: its registers along the
// axis are put into an array, and the warp merges them into the list
// (simt.select). Warps do not meet here: each has a list of its own.
//===----------------------------------------------------------------------===//
#include "LowerSelect.h"
#include "Places.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;
using tile::Digit;

/// Bits [low, high) of a lane's number that move along `axis`, as powers of
/// two; nothing if there are others between them.
static std::optional<std::pair<int64_t, int64_t>>
lanesAlong(ArrayRef<Digit> lanes, int64_t axis) {
  int64_t below = 1, low = 1, high = 1;
  for (const Digit &digit : lanes) {
    bool isAlong = digit.axis == axis && digit.stride && digit.size > 1;
    if (isAlong && high > low && high != below)
      return std::nullopt;
    if (isAlong && high == low)
      low = below;
    below *= digit.size;
    if (isAlong)
      high = below;
  }
  return std::make_pair(low, high);
}

LogicalResult fusec::tile_to_simt::lowerSelect(tile::SelectOp op,
                                               ThreadCode &code) {
  Location loc = op.getLoc();
  int64_t axis = op.getAxis();
  Value operand = op.getOperand();
  tile::LayoutAttr layout = tile::getLayout(operand.getType());
  auto lanes = lanesAlong(layout.getLane(), axis);
  if (!lanes)
    return op.emitOpError("expected neighbouring lanes along its axis");
  auto isKept = [&](const Digit &digit) { return digit.axis != axis; };
  int64_t kept = tile::placeCount(tile::dropAxes(layout.getReg(), axis));
  int64_t along = layout.getRegisterCount() / kept, count = op.getList().size();
  Type type = cast<RankedTensorType>(operand.getType()).getElementType();
  for (Value result : op.getResults())
    code.arrays[result] = code.makeArray(loc, kept, type);
  Value elements = code.makeArray(loc, along, type);
  Value list = code.makeArray(loc, count, type);
  auto at = [&](Value array, Value place) -> Value {
    return memref::LoadOp::create(code.builder, loc, array, place);
  };
  code.forEachRegister(loc, kept, [&](Value place) {
    for (auto [k, value] : llvm::enumerate(op.getList()))
      memref::StoreOp::create(code.builder, loc, code.element(value, place),
                              list, code.constant(loc, k));
    code.forEachRegister(loc, along, [&](Value reg) {
      Value full = joinPlaces(code, loc, layout.getReg(), isKept, place, reg);
      memref::StoreOp::create(code.builder, loc, code.element(operand, full),
                              elements, reg);
    });
    simt::SelectOp::create(code.builder, loc, elements, list, lanes->first,
                           lanes->second);
    for (auto [k, result] : llvm::enumerate(op.getResults()))
      memref::StoreOp::create(code.builder, loc,
                              at(list, code.constant(loc, k)),
                              code.arrays.lookup(result), place);
  });
  return success();
}
