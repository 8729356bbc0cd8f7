//===- Random.cpp - seeded inputs and checksums ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Random.h"

using namespace fusec;

uint64_t tool::checksum(llvm::ArrayRef<std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (std::byte byte : bytes)
    hash = (hash ^ uint64_t(byte)) * 0x100000001b3u;
  return hash;
}

double tool::sumOf(const HostTensor &tensor) {
  double sum = 0;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i)
    sum += tensor.getF64(i);
  return sum;
}
