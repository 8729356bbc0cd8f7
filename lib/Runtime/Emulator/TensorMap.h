//===- TensorMap.h - tensor maps of the emulator ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_TENSORMAP_H
#define FUSEC_LIB_RUNTIME_EMULATOR_TENSORMAP_H

#include "Api.h"
#include "fusec/Runtime/Im2colMap.h"

namespace fusec::runtime::emulator {

/// The map of `arg` (checked by checkTensorMap) for memory at `base`.
FusecTensorMap makeTensorMap(const TensorMapArg &arg, const void *base);
/// The map of `arg` (checked by checkIm2colMap), likewise.
FusecTensorMap makeIm2colMap(const Im2colMapArg &arg, const void *base);

/// Where a byte of shared memory lies under a swizzle of 0, 32, 64 or 128
/// bytes: units of 16 bytes change places by address bits.
inline uint32_t swizzled(uint32_t address, uint32_t swizzle) {
  switch (swizzle) {
  case 128:
    return address ^ (address >> 7 & 7) << 4;
  case 64:
    return address ^ (address >> 7 & 3) << 4;
  case 32:
    return address ^ (address >> 7 & 1) << 4;
  default:
    return address;
  }
}

/// Writes what a load gives for an element outside the tensor.
void fillElement(uint8_t *to, const FusecTensorMap &map);

/// Copies in relaxed atomic units of at most 8 bytes, as blocks on other OS
/// threads may touch the same global memory.
void copyUnits(uint8_t *to, const uint8_t *from, size_t bytes);

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_TENSORMAP_H
