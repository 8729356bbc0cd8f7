//===- headers_system_dlpack.cpp - beside a program's own dlpack.h --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands for a program that has included a dlpack.h of its own: the usual
// guard and the types that fusec uses, from elsewhere.
//===----------------------------------------------------------------------===//
#include <cstdint>
#define DLPACK_DLPACK_H_
extern "C" {
struct DLTensor;
struct DLManagedTensor;
}
#include "fusec-c/fusec.h"
