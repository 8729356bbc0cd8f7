//===- RandomTensor.h - seeded inputs ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs where nobody gave any. The generator is a counter hash, so that other
// programs can make the same values.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_RANDOMTENSOR_H
#define FUSEC_RUNTIME_RANDOMTENSOR_H

#include "fusec/Runtime/Program.h"
#include "fusec/Support/HostTensor.h"

namespace fusec::runtime {

/// Random bits of element `element` of input `input`.
uint64_t randomBits(uint64_t seed, uint64_t input, uint64_t element);

/// Float values are n / 2^`randomFloatBits(type)` with n uniform in
/// [-2^bits, 2^bits): exact in the type. Integers are uniform in [0, 8) so that
/// they serve as indices; bools are even.
unsigned randomFloatBits(DType type);

/// A tensor of such values.
llvm::Expected<HostTensor> randomTensor(const TensorSpec &spec, uint64_t seed,
                                        uint64_t input);

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_RANDOMTENSOR_H
