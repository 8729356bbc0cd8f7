//===- Api.h - the call table between kernels and the runtime ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_API_H
#define FUSEC_LIB_RUNTIME_EMULATOR_API_H

#include <cstdint>

namespace fusec::runtime::emulator {

// The table is declared once, in the text that kernels are compiled with.
#define FUSEC_EMU_API_ONLY
#include "prelude_emulator.h"
#undef FUSEC_EMU_API_ONLY

/// The functions behind the prelude. They act on the emulated thread that runs
/// on the calling OS thread.
const FusecEmuApi &api();

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_API_H
