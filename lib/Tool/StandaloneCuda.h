//===- StandaloneCuda.h - a program as one .cu file -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_STANDALONECUDA_H
#define FUSEC_LIB_TOOL_STANDALONECUDA_H

#include "ToolError.h"
#include "fusec/Runtime/Program.h"

namespace fusec::tool {

/// The kernels of `program` without the prelude, in order.
std::string kernelText(const runtime::Program &program);

/// One file that nvcc builds without anything else: the prelude, the kernels,
/// and a main that allocates, fills the inputs as `fusec run --seed` does,
/// launches in order and prints the sum and checksum of each output. No name
/// of the graph gets into the text. Fails on constants beyond 64 MiB.
llvm::Expected<std::string> standaloneCuda(const runtime::Program &program,
                                           llvm::StringRef architecture);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_STANDALONECUDA_H
