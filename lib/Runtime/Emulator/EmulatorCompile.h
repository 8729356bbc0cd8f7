//===- EmulatorCompile.h - from text to a loaded library --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_EMULATORCOMPILE_H
#define FUSEC_LIB_RUNTIME_EMULATOR_EMULATORCOMPILE_H

#include "fusec/Runtime/Emulator/EmulatorModule.h"

namespace fusec::runtime::emulator {

/// Compiles kernels in one translation unit and opens the result. The caller
/// closes the handle with dlclose.
llvm::Expected<void *> compileAndLoad(llvm::ArrayRef<EmulatorKernel> kernels,
                                      const EmulatorCompileOptions &options);

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_EMULATORCOMPILE_H
