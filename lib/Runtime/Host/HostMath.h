//===- HostMath.h - functions that host kernels may call --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_HOST_HOSTMATH_H
#define FUSEC_LIB_RUNTIME_HOST_HOSTMATH_H

#include "llvm/ADT/ArrayRef.h"

namespace fusec::runtime {

/// A function under the name that kernels know it by.
struct HostSymbol {
  const char *name;
  void *address;
};

/// All functions that kernels may call: `fusec_<function>_f32` and `_f64`
/// (docs/semantics.md, host math) and what the code generator itself may ask
/// for (fmod, memcpy, half conversions, ...). Kernels see no other symbol of
/// the process.
llvm::ArrayRef<HostSymbol> hostSymbols();

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_HOST_HOSTMATH_H
