//===- TensorMap.cpp - what a tensor map may say --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of cuTensorMapEncodeTiled without interleaving, so that a map is
// refused when a program is loaded and on every device alike.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace fusec;
using namespace fusec::runtime;
using llvm::Error;

static constexpr size_t kMaxRank = 5;
static constexpr int64_t kMaxDim = int64_t(1) << 32;
static constexpr int64_t kMaxStride = int64_t(1) << 40;
static constexpr uint32_t kMaxBox = 256;
static constexpr uint32_t kMaxStep = 8;
static constexpr int64_t kUnit = 16;

template <typename... Args>
static Error fail(const char *format, Args... args) {
  return llvm::createStringError(
      (llvm::Twine("tensor map: ") + format).str().c_str(), args...);
}

static Error checkRanks(const TensorMapArg &map) {
  size_t rank = map.dims.size();
  if (rank < 1 || rank > kMaxRank)
    return fail("expected 1 to %zu dimensions, found %zu", kMaxRank, rank);
  if (map.strides.size() != rank - 1 || map.box.size() != rank ||
      (!map.steps.empty() && map.steps.size() != rank))
    return fail("expected %zu strides and a box and steps of %zu dimensions, "
                "found %zu, %zu and %zu",
                rank - 1, rank, map.strides.size(), map.box.size(),
                map.steps.size());
  return Error::success();
}

static Error checkDimension(const TensorMapArg &map, size_t dim) {
  if (map.dims[dim] < 1 || map.dims[dim] > kMaxDim)
    return fail("dimension %zu: expected 1 to 2^32 elements, found %lld", dim,
                static_cast<long long>(map.dims[dim]));
  if (map.box[dim] < 1 || map.box[dim] > kMaxBox)
    return fail("dimension %zu: expected a box of 1 to %u elements, found %u",
                dim, kMaxBox, map.box[dim]);
  uint32_t step = map.steps.empty() ? 1 : map.steps[dim];
  if (step < 1 || step > (dim == 0 ? 1 : kMaxStep))
    return fail("dimension %zu: expected a step of 1 to %u, found %u", dim,
                dim == 0 ? 1 : kMaxStep, step);
  if (dim == 0)
    return Error::success();
  int64_t stride = map.strides[dim - 1];
  if (stride < 0 || stride >= kMaxStride || stride % kUnit != 0)
    return fail("dimension %zu: expected a stride below 2^40 bytes in steps of "
                "%lld, found %lld",
                dim, static_cast<long long>(kUnit),
                static_cast<long long>(stride));
  return Error::success();
}

static Error checkModes(const TensorMapArg &map) {
  if (map.dtype == DType::I4 || map.dtype == DType::U4)
    return fail("expected elements of whole bytes, found %s",
                name(map.dtype).data());
  int64_t row = int64_t(map.box[0]) * byteSize(map.dtype);
  if (row % kUnit != 0)
    return fail("expected rows of a box in steps of %lld bytes, found %lld",
                static_cast<long long>(kUnit), static_cast<long long>(row));
  if (!llvm::is_contained({0u, 32u, 64u, 128u}, map.swizzle) ||
      (map.swizzle != 0 && row > int64_t(map.swizzle)))
    return fail("expected a swizzle of 0, 32, 64 or 128 bytes that holds a row "
                "of %lld bytes, found %u",
                static_cast<long long>(row), map.swizzle);
  // cuTensorMapEncodeTiled takes it; a copy by it is an illegal instruction.
  if (map.swizzle != 0 && map.dims.size() == 1)
    return fail("expected no swizzle of a map of one dimension, found %u",
                map.swizzle);
  if (!llvm::is_contained({0u, 64u, 128u, 256u}, map.l2Promotion))
    return fail("expected an L2 promotion of 0, 64, 128 or 256 bytes, found %u",
                map.l2Promotion);
  if (map.fill == TensorMapArg::Fill::Nan &&
      (!isFloat(map.dtype) || byteSize(map.dtype) == 1))
    return fail("expected a type of 16 bits or more with a NaN, found %s",
                name(map.dtype).data());
  if (map.roundsToTf32 && map.dtype != DType::F32)
    return fail("expected f32 elements to round to TF32, found %s",
                name(map.dtype).data());
  return Error::success();
}

// The region lies within the buffer.
static Error checkExtent(const TensorMapArg &map, int64_t bufferBytes) {
  int64_t end = map.byteOffset;
  bool fits = map.byteOffset >= 0 && map.byteOffset % kUnit == 0;
  auto add = [&](int64_t count, int64_t bytes) {
    int64_t reach;
    fits &= !__builtin_mul_overflow(count, bytes, &reach) &&
            !__builtin_add_overflow(end, reach, &end);
  };
  add(map.dims[0], byteSize(map.dtype));
  for (size_t dim = 1; dim < map.dims.size(); ++dim)
    add(map.dims[dim] - 1, map.strides[dim - 1]);
  if (fits && end <= bufferBytes)
    return Error::success();
  return fail("a region from byte %lld that does not fit the buffer of %lld "
              "bytes in steps of %lld",
              static_cast<long long>(map.byteOffset),
              static_cast<long long>(bufferBytes),
              static_cast<long long>(kUnit));
}

Error runtime::checkTensorMap(const TensorMapArg &map, int64_t bufferBytes) {
  if (Error error = checkRanks(map))
    return error;
  for (size_t dim = 0; dim < map.dims.size(); ++dim)
    if (Error error = checkDimension(map, dim))
      return error;
  if (Error error = checkModes(map))
    return error;
  return checkExtent(map, bufferBytes);
}
