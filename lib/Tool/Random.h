//===- Random.h - seeded inputs and checksums -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs for a first run, which the main program of --emit=cu
// (StandaloneCuda.cpp) makes, too.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_RANDOM_H
#define FUSEC_LIB_TOOL_RANDOM_H

#include "fusec/Runtime/RandomTensor.h"
#include "fusec/Support/HostTensor.h"

namespace fusec::tool {

using runtime::randomBits;
using runtime::randomFloatBits;
using runtime::randomTensor;

/// FNV-1a of the bytes.
uint64_t checksum(llvm::ArrayRef<std::byte> bytes);
/// The sum of all elements as f64, in order.
double sumOf(const HostTensor &tensor);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_RANDOM_H
