//===- DType.h - element types ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types of fusec, free of MLIR so that the runtime, the file
// readers and the reference evaluator can share them.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_DTYPE_H
#define FUSEC_SUPPORT_DTYPE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace fusec {

/// An element type. Integers are two's complement. `I4`/`U4` take one byte an
/// element in memory (value sign- or zero-extended); files that pack two to a
/// byte are unpacked by their readers.
enum class DType : uint8_t {
  F64, F32, F16, BF16, F8E4M3, F8E5M2,
  I64, I32, I16, I8, I4,
  U64, U32, U16, U8, U4,
  Bool,
};

/// Bytes of one element in memory (1 for Bool and the 4-bit types).
unsigned byteSize(DType type);
/// True for the six floating-point types.
bool isFloat(DType type);
/// True for I64..I4.
bool isSignedInt(DType type);
/// True for U64..U4; Bool is not an integer here.
bool isUnsignedInt(DType type);
/// Significant bits of a float type, the implicit one included (f32: 24); 0 otherwise.
unsigned precisionBits(DType type);
/// Value bits of an integer type (I4: 4, Bool: 1); 0 for floats.
unsigned integerBits(DType type);
/// "f32", "bf16", "f8e4m3", "i64", "u8", "bool", ...
llvm::StringRef name(DType type);
/// The inverse of `name`; nothing for an unknown name.
std::optional<DType> parseDType(llvm::StringRef name);

} // namespace fusec

#endif // FUSEC_SUPPORT_DTYPE_H
