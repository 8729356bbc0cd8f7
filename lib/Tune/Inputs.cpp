//===- Inputs.cpp - what candidates are run on ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Inputs.h"
#include "fusec/Analysis/ExactSums.h"
#include "fusec/Runtime/RandomTensor.h"

#include <algorithm>

using namespace fusec;
using namespace fusec::tune;

/// A prime: rows of a matrix do not repeat.
static constexpr int64_t kPeriod = 1048583;
static constexpr uint64_t kSeed = 1;

/// Random integers are simple ones already.
static_assert(analysis::kSimpleIntegers == 7);

static void makeSimple(HostTensor &tensor, uint64_t input) {
  if (!isFloat(tensor.dtype))
    return;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i)
    tensor.setF64(
        i, analysis::kSimpleFloats[runtime::randomBits(kSeed, input, i) >> 62]);
}

llvm::Error fusec::tune::fillInput(runtime::Device &device, void *memory,
                                   const runtime::TensorSpec &spec, Data data,
                                   uint64_t input) {
  int64_t count = spec.elements();
  if (count <= 0)
    return llvm::Error::success();
  llvm::Expected<HostTensor> piece = runtime::randomTensor(
      {"", spec.dtype, {std::min(count, kPeriod)}}, kSeed, input);
  if (!piece)
    return piece.takeError();
  if (data == Data::Simple)
    makeSimple(*piece, input);
  int64_t size = byteSize(spec.dtype);
  for (int64_t begin = 0; begin < count; begin += kPeriod) {
    uint64_t bytes = uint64_t(std::min(kPeriod, count - begin) * size);
    if (llvm::Error error =
            device.copyIn(static_cast<char *>(memory) + begin * size,
                          piece->data(), bytes, nullptr))
      return error;
  }
  return llvm::Error::success();
}
