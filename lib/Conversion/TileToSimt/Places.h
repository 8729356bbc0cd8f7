//===- Places.h - arithmetic on mixed-radix places --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A place (register, lane or warp number) is written in the digits of a layout,
// fastest first. The functions here take places apart and put them together; a
// coordinate, the register of a reduced tile and the exchange of a reduction
// are all made of them.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_PLACES_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_PLACES_H

#include "ThreadCode.h"

namespace fusec::tile_to_simt {

/// Says something about a digit.
using DigitTest = llvm::function_ref<bool(const tile::Digit &)>;

/// The value of digit number `position` of `place`:
///   place / (size0 * size1 * ...) % size, without the remainder for the last.
mlir::Value digitOf(ThreadCode &code, mlir::Location loc,
                    llvm::ArrayRef<tile::Digit> digits, unsigned position,
                    mlir::Value place);

/// The place whose digit number i is value(i); null values count as 0.
mlir::Value makePlace(ThreadCode &code, mlir::Location loc,
                      llvm::ArrayRef<tile::Digit> digits,
                      llvm::function_ref<mlir::Value(unsigned)> value);

/// `place` written in only those digits of `digits` that are `kept`.
mlir::Value narrowPlace(ThreadCode &code, mlir::Location loc,
                        llvm::ArrayRef<tile::Digit> digits, DigitTest kept,
                        mlir::Value place);

/// The place whose `kept` digits are those of `narrow`, a place of the kept
/// digits alone, and whose other digits are those of `rest`, a place of the
/// others alone.
mlir::Value joinPlaces(ThreadCode &code, mlir::Location loc,
                       llvm::ArrayRef<tile::Digit> digits, DigitTest kept,
                       mlir::Value narrow, mlir::Value rest);

/// True where every `chosen` digit of `place` is 0; null if there is none.
mlir::Value areZero(ThreadCode &code, mlir::Location loc,
                    llvm::ArrayRef<tile::Digit> digits, DigitTest chosen,
                    mlir::Value place);

/// lhs and rhs, either of which may be null for true.
mlir::Value conjunction(ThreadCode &code, mlir::Location loc, mlir::Value lhs,
                        mlir::Value rhs);

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_PLACES_H
