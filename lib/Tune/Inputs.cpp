//===- Inputs.cpp - what candidates are run on ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Inputs.h"
#include "fusec/Analysis/ExactSums.h"
#include "fusec/Runtime/RandomTensor.h"

#include <algorithm>
#include <limits>

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

/// Few enough that most rows and columns of a product stay finite.
static void makeSpecial(HostTensor &tensor) {
  if (!isFloat(tensor.dtype))
    return;
  int64_t count = tensor.elements();
  double infinity = std::numeric_limits<double>::infinity();
  tensor.setF64(count / 7, std::numeric_limits<double>::quiet_NaN());
  tensor.setF64(count * 3 / 7, infinity);
  tensor.setF64(count * 5 / 7, -infinity);
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
  if (data != Data::Random)
    makeSimple(*piece, input);
  std::optional<HostTensor> first;
  if (data == Data::Special) {
    first = *piece;
    makeSpecial(*first);
  }
  int64_t size = byteSize(spec.dtype);
  for (int64_t begin = 0; begin < count; begin += kPeriod) {
    uint64_t bytes = uint64_t(std::min(kPeriod, count - begin) * size);
    if (llvm::Error error = device.copyIn(
            static_cast<char *>(memory) + begin * size,
            begin || !first ? piece->data() : first->data(), bytes, nullptr))
      return error;
  }
  return llvm::Error::success();
}
