//===- Values.cpp - values that find faults -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every value is made of integers and powers of two, so that it does not
// depend on a math library.
//===----------------------------------------------------------------------===//
#include "fusec/Fuzz/Generate.h"
#include <cmath>
#include <limits>

using namespace fusec;
using namespace fusec::fuzz;

namespace {
/// What a float tensor holds.
enum class Kind { Small, Exact, Positive, Wide, Special, Ties, Splat };
} // namespace

/// NaN, infinities, zeros, denormals, extremes of the type.
static double special(Rng &rng, DType dtype) {
  double sign = rng.chance(1, 2) ? 1 : -1;
  bool isWide = dtype == DType::F64;
  bool isHalf = dtype == DType::F16;
  double least = isWide ? 0x1p-1074 : isHalf ? 0x1p-24 : 0x1p-149;
  double normal = isWide ? 0x1p-1022 : isHalf ? 0x1p-14 : 0x1p-126;
  double most = isWide   ? std::numeric_limits<double>::max()
                : isHalf ? 65504.0
                         : double(std::numeric_limits<float>::max());
  switch (rng.below(10)) {
  case 0:
    return NAN;
  case 1:
    return sign * HUGE_VAL;
  case 2:
  case 3:
    return sign * 0.0;
  case 4:
    return sign * least;
  case 5:
    return sign * normal;
  case 6:
    return sign * most;
  case 7:
    return sign * normal / 2;
  case 8:
    return sign * 1.0;
  default:
    return sign * std::ldexp(1.0, rng.between(-30, 30));
  }
}

static double real(Rng &rng, Kind kind, DType dtype) {
  double fraction = std::ldexp(double(rng.between(-(1 << 23), 1 << 23)), -23);
  switch (kind) {
  case Kind::Small:
    return fraction;
  case Kind::Exact:
    return double(rng.between(-16, 16)) / 4;
  case Kind::Positive:
    return std::fabs(fraction) * 4 + 0.0625;
  case Kind::Wide:
    return std::ldexp(fraction, rng.between(-14, 14));
  case Kind::Special:
    return rng.chance(1, 3) ? special(rng, dtype) : fraction * 8;
  case Kind::Ties:
    return double(rng.between(-8, 8)) + (rng.chance(1, 2) ? 0.5 : 0.0);
  case Kind::Splat:
    return 0;
  }
  return 0;
}

static Kind kindOf(Rng &rng) {
  static constexpr Kind kKinds[] = {
      Kind::Small, Kind::Small,   Kind::Small,    Kind::Exact,
      Kind::Exact, Kind::Exact,   Kind::Positive, Kind::Positive,
      Kind::Wide,  Kind::Special, Kind::Ties,     Kind::Splat};
  return rng.pick(kKinds);
}

/// A tensor of zeros; its size is bounded by the generator.
static HostTensor zeros(DType dtype, llvm::ArrayRef<int64_t> shape) {
  return llvm::cantFail(HostTensor::create(dtype, shape));
}

/// NaN of either sign, signalling, with all bits: kernels must keep what is
/// NaN, whatever its bits.
static void varyNaN(HostTensor &tensor) {
  // Of a NaN without sign whose fraction is 1.
  uint64_t least = tensor.dtype == DType::F64      ? 0x7ff0000000000001
                   : tensor.dtype == DType::F32    ? 0x7f800001
                   : tensor.dtype == DType::F16    ? 0x7c01
                   : tensor.dtype == DType::BF16   ? 0x7f81
                   : tensor.dtype == DType::F8E5M2 ? 0x7d
                                                   : 0x7f;
  uint64_t sign = uint64_t(1) << (8 * byteSize(tensor.dtype) - 1);
  const uint64_t kinds[] = {least, least | sign, ~uint64_t(0)};
  size_t count = 0;
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i) {
    if (!std::isnan(tensor.getF64(i)))
      continue;
    if (size_t kind = count++ % 4)
      tensor.setBits(i, kinds[kind - 1]);
  }
}

HostTensor fuzz::randomValues(Rng &rng, DType dtype,
                              llvm::ArrayRef<int64_t> shape) {
  HostTensor tensor = zeros(dtype, shape);
  int64_t count = tensor.elements();
  if (isFloat(dtype)) {
    Kind kind = kindOf(rng);
    double splat =
        rng.chance(1, 4) ? special(rng, dtype) : double(rng.between(-4, 4)) / 2;
    for (int64_t i = 0; i < count; ++i)
      tensor.setF64(i, kind == Kind::Splat ? splat : real(rng, kind, dtype));
    varyNaN(tensor);
    return tensor;
  }
  bool extreme = rng.chance(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::Bool)
      tensor.setI64(i, rng.below(2));
    else if (extreme && rng.chance(1, 3)) // the least, the largest, all bits
      tensor.setI64(i, int64_t(rng.pick<uint64_t>(
                           {uint64_t(1) << (integerBits(dtype) - 1),
                            (uint64_t(1) << (integerBits(dtype) - 1)) - 1,
                            ~uint64_t(0)})));
    else
      tensor.setI64(i, rng.between(isUnsignedInt(dtype) ? 0 : -7, 7));
  }
  return tensor;
}

HostTensor fuzz::randomIndices(Rng &rng, DType dtype,
                               llvm::ArrayRef<int64_t> shape, int64_t size) {
  HostTensor tensor = zeros(dtype, shape);
  bool wild = rng.chance(1, 6);
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i) {
    int64_t low = isUnsignedInt(dtype) ? 0 : -size, high = size - 1;
    if (wild) {
      low -= isUnsignedInt(dtype) ? 0 : 3;
      high += 3;
    }
    tensor.setI64(i, rng.between(low, std::max(low, high)));
  }
  return tensor;
}
