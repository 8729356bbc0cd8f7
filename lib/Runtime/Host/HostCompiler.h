//===- HostCompiler.h - LLVM IR text to machine code ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_HOST_HOSTCOMPILER_H
#define FUSEC_LIB_RUNTIME_HOST_HOSTCOMPILER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace fusec::runtime {

/// Registers this machine's code generator with LLVM, once. Thread-safe.
void initializeHostTarget();

/// Compiles one module of LLVM IR text to an object for this machine: its CPU
/// and features, no contraction of multiplies and adds. Thread-safe. `fast`
/// leaves optimising out. The error holds what the parser or verifier said.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileHostObject(llvm::StringRef text, llvm::StringRef name, bool fast);

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_HOST_HOSTCOMPILER_H
