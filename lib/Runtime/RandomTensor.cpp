//===- RandomTensor.cpp - seeded inputs -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/RandomTensor.h"

#include <algorithm>
#include <cmath>

using namespace fusec;

uint64_t runtime::randomBits(uint64_t seed, uint64_t input, uint64_t element) {
  // The finaliser of SplitMix64 on a position.
  uint64_t x = seed * 0x9e3779b97f4a7c15u + input * 0xd1b54a32d192ed03u +
               element * 0x8cb92ba72f3d8dd7u + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

unsigned runtime::randomFloatBits(DType type) {
  return std::min(precisionBits(type), 24u) - 1;
}

llvm::Expected<HostTensor>
runtime::randomTensor(const runtime::TensorSpec &spec, uint64_t seed,
                      uint64_t input) {
  llvm::Expected<HostTensor> tensor =
      HostTensor::create(spec.dtype, spec.shape);
  if (!tensor)
    return tensor;
  for (int64_t i = 0, n = tensor->elements(); i < n; ++i) {
    uint64_t bits = randomBits(seed, input, i);
    if (isFloat(spec.dtype)) {
      unsigned p = randomFloatBits(spec.dtype);
      int64_t n = int64_t(bits >> (63 - p)) - (int64_t(1) << p);
      tensor->setF64(i, std::ldexp(double(n), -int(p)));
    } else {
      tensor->setI64(i, spec.dtype == DType::Bool ? bits & 1 : bits & 7);
    }
  }
  return tensor;
}
