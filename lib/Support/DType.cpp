//===- DType.cpp - element types ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/DType.h"

#include <array>

using namespace fusec;

namespace {
struct Info {
  const char *name;
  uint8_t bytes;
  uint8_t precision; // floats
  uint8_t bits;      // integers and bool
};
} // namespace

// In the order of DType.
static constexpr std::array<Info, 17> kInfo = {{
    {"f64", 8, 53, 0}, {"f32", 4, 24, 0}, {"f16", 2, 11, 0},
    {"bf16", 2, 8, 0}, {"f8e4m3", 1, 4, 0}, {"f8e5m2", 1, 3, 0},
    {"i64", 8, 0, 64}, {"i32", 4, 0, 32}, {"i16", 2, 0, 16},
    {"i8", 1, 0, 8},   {"i4", 1, 0, 4},   {"u64", 8, 0, 64},
    {"u32", 4, 0, 32}, {"u16", 2, 0, 16}, {"u8", 1, 0, 8},
    {"u4", 1, 0, 4},   {"bool", 1, 0, 1},
}};

static const Info &info(DType type) { return kInfo[static_cast<size_t>(type)]; }

unsigned fusec::byteSize(DType type) { return info(type).bytes; }
bool fusec::isFloat(DType type) { return info(type).precision != 0; }
bool fusec::isSignedInt(DType type) {
  return type >= DType::I64 && type <= DType::I4;
}
bool fusec::isUnsignedInt(DType type) {
  return type >= DType::U64 && type <= DType::U4;
}
unsigned fusec::precisionBits(DType type) { return info(type).precision; }
unsigned fusec::integerBits(DType type) { return info(type).bits; }
llvm::StringRef fusec::name(DType type) { return info(type).name; }

std::optional<DType> fusec::parseDType(llvm::StringRef text) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (text == kInfo[i].name)
      return static_cast<DType>(i);
  return std::nullopt;
}
