//===- Places.cpp - arithmetic on mixed-radix places ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;
using tile::Digit;

Value fusec::tile_to_simt::digitOf(ThreadCode &code, Location loc,
                                   ArrayRef<Digit> digits, unsigned position,
                                   Value place) {
  int64_t below = tile::placeCount(digits.take_front(position));
  int64_t size = digits[position].size;
  Value value = code.div(loc, place, below);
  return below * size == tile::placeCount(digits) ? value
                                                  : code.rem(loc, value, size);
}

Value fusec::tile_to_simt::makePlace(ThreadCode &code, Location loc,
                                     ArrayRef<Digit> digits,
                                     function_ref<Value(unsigned)> value) {
  Value sum = code.constant(loc, 0);
  int64_t weight = 1;
  for (auto [i, digit] : llvm::enumerate(digits)) {
    Value part = digit.size > 1 ? value(i) : Value();
    if (part)
      sum = code.add(loc, sum, code.mul(loc, part, weight));
    weight *= digit.size;
  }
  return sum;
}

/// The digits that `kept` chooses, and where they stand in `digits`.
static SmallVector<Digit> choose(ArrayRef<Digit> digits, DigitTest kept,
                                 SmallVectorImpl<unsigned> &positions) {
  SmallVector<Digit> result;
  for (auto [i, digit] : llvm::enumerate(digits))
    if (kept(digit)) {
      result.push_back(digit);
      positions.push_back(i);
    }
  return result;
}

Value fusec::tile_to_simt::narrowPlace(ThreadCode &code, Location loc,
                                       ArrayRef<Digit> digits, DigitTest kept,
                                       Value place) {
  SmallVector<unsigned> positions;
  SmallVector<Digit> narrow = choose(digits, kept, positions);
  return makePlace(code, loc, narrow, [&](unsigned i) {
    return digitOf(code, loc, digits, positions[i], place);
  });
}

Value fusec::tile_to_simt::joinPlaces(ThreadCode &code, Location loc,
                                      ArrayRef<Digit> digits, DigitTest kept,
                                      Value narrow, Value rest) {
  SmallVector<unsigned> inNarrow, inRest;
  SmallVector<Digit> narrowDigits = choose(digits, kept, inNarrow);
  SmallVector<Digit> restDigits =
      choose(digits, [&](const Digit &digit) { return !kept(digit); }, inRest);
  return makePlace(code, loc, digits, [&](unsigned i) {
    auto *at = llvm::find(inNarrow, i);
    if (at != inNarrow.end())
      return digitOf(code, loc, narrowDigits, at - inNarrow.begin(), narrow);
    return digitOf(code, loc, restDigits,
                   llvm::find(inRest, i) - inRest.begin(), rest);
  });
}

Value fusec::tile_to_simt::conjunction(ThreadCode &code, Location loc,
                                       Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(code.builder, loc, lhs, rhs);
}

Value fusec::tile_to_simt::areZero(ThreadCode &code, Location loc,
                                   ArrayRef<Digit> digits, DigitTest chosen,
                                   Value place) {
  Value condition;
  for (auto [i, digit] : llvm::enumerate(digits)) {
    if (digit.size == 1 || !chosen(digit))
      continue;
    Value isZero = arith::CmpIOp::create(
        code.builder, loc, arith::CmpIPredicate::eq,
        digitOf(code, loc, digits, i, place), code.constant(loc, 0));
    condition = conjunction(code, loc, condition, isZero);
  }
  return condition;
}
