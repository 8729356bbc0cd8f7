//===- Numbers.h - narrow floats as the GPU rounds them ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between f64/f32 and the storage types f16, bf16, f8e4m3 (FN) and
// f8e5m2, each with a single rounding to nearest even.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_NUMBERS_H
#define FUSEC_LIB_RUNTIME_EMULATOR_NUMBERS_H

#include "Api.h"

namespace fusec::runtime::emulator {

/// The code of `value`. Overflow gives infinity (f8e4m3: NaN) or, when
/// `saturate`, the largest finite value with the sign of `value`.
uint16_t encodeFloat(int32_t format, double value, bool saturate);
/// The value of a code; exact.
float decodeFloat(int32_t format, uint16_t bits);

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_NUMBERS_H
