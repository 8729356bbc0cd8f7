//===- Random.h - seeded inputs and checksums -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs for a first run. The generator is a counter hash, so that the main
// program of --emit=cu (StandaloneCuda.cpp) makes the same values.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_RANDOM_H
#define FUSEC_LIB_TOOL_RANDOM_H

#include "fusec/Runtime/Program.h"
#include "fusec/Support/HostTensor.h"

namespace fusec::tool {

/// Random bits of element `element` of input `input`.
uint64_t randomBits(uint64_t seed, uint64_t input, uint64_t element);

/// Float values are n / 2^`randomFloatBits(type)` with n uniform in
/// [-2^bits, 2^bits): exact in the type. Integers are uniform in [0, 8) so that
/// they serve as indices; bools are even.
unsigned randomFloatBits(DType type);

/// A tensor of such values.
llvm::Expected<HostTensor> randomTensor(const runtime::TensorSpec &spec,
                                        uint64_t seed, uint64_t input);

/// FNV-1a of the bytes.
uint64_t checksum(llvm::ArrayRef<std::byte> bytes);
/// The sum of all elements as f64, in order.
double sumOf(const HostTensor &tensor);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_RANDOM_H
