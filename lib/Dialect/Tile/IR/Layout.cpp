//===- Layout.cpp - which thread holds which tile element -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Tile/IR/Layout.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec::tile;

llvm::raw_ostream &fusec::tile::operator<<(llvm::raw_ostream &os,
                                           const Digit &digit) {
  return os << digit.size << ':' << digit.stride << ':' << digit.axis;
}

int64_t fusec::tile::placeCount(llvm::ArrayRef<Digit> digits) {
  int64_t count = 1;
  for (const Digit &digit : digits)
    count *= digit.size;
  return count;
}

llvm::SmallVector<Digit> fusec::tile::dropAxes(llvm::ArrayRef<Digit> digits,
                                               llvm::ArrayRef<int64_t> axes) {
  llvm::SmallVector<Digit> kept;
  for (const Digit &digit : digits)
    if (!llvm::is_contained(axes, digit.axis))
      kept.push_back(digit);
  return kept;
}

llvm::SmallVector<Digit>
fusec::tile::replicateAxes(llvm::ArrayRef<Digit> digits,
                           llvm::ArrayRef<int64_t> axes) {
  llvm::SmallVector<Digit> result(digits);
  for (Digit &digit : result)
    if (llvm::is_contained(axes, digit.axis))
      digit.stride = 0;
  return result;
}

void fusec::tile::addCoordinates(llvm::ArrayRef<Digit> digits, int64_t place,
                                 llvm::MutableArrayRef<int64_t> coords) {
  for (const Digit &digit : digits) {
    coords[digit.axis] += (place % digit.size) * digit.stride;
    place /= digit.size;
  }
}

mlir::FailureOr<Digit>
mlir::FieldParser<Digit>::parse(mlir::AsmParser &parser) {
  Digit digit;
  if (parser.parseInteger(digit.size) || parser.parseColon() ||
      parser.parseInteger(digit.stride) || parser.parseColon() ||
      parser.parseInteger(digit.axis))
    return failure();
  return digit;
}
