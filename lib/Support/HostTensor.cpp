//===- HostTensor.cpp - a tensor in host memory ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/HostTensor.h"
#include "fusec/Support/Memory.h"

#include <bit>
#include <cstring>

using namespace fusec;
using llvm::Expected;

// Elements are kept in host order and files in little-endian order; the
// readers copy bytes between them unchanged.
static_assert(std::endian::native == std::endian::little);

Expected<HostTensor> HostTensor::create(DType dtype,
                                        llvm::ArrayRef<int64_t> shape,
                                        int64_t maxBytes) {
  Expected<int64_t> size = byteCount(dtype, shape, maxBytes);
  if (!size)
    return size.takeError();
  if (llvm::Error error = askForMemory(*size, "a tensor"))
    return std::move(error);
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.bytes = std::make_shared<Bytes>(static_cast<size_t>(*size));
  return tensor;
}

HostTensor HostTensor::clone() const {
  HostTensor copy = *this;
  copy.bytes = std::make_shared<Bytes>(llvm::ArrayRef<std::byte>(*bytes));
  return copy;
}

int64_t HostTensor::elements() const {
  return bytes ? static_cast<int64_t>(bytes->size() / byteSize(dtype)) : 0;
}

uint64_t HostTensor::getBits(int64_t index) const {
  unsigned size = byteSize(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes->data() + index * size, size);
  return bits;
}

void HostTensor::setBits(int64_t index, uint64_t bits) {
  unsigned size = byteSize(dtype);
  std::memcpy(data() + index * size, &bits, size);
}

double HostTensor::getF64(int64_t index) const {
  if (isFloat(dtype))
    return decodeFloat(dtype, getBits(index));
  if (dtype == DType::U64)
    return static_cast<double>(getBits(index));
  return static_cast<double>(getI64(index));
}

int64_t HostTensor::getI64(int64_t index) const {
  uint64_t bits = getBits(index);
  if (isFloat(dtype))
    return toSignedSaturating(decodeFloat(dtype, bits), 64);
  if (dtype == DType::Bool)
    return bits != 0;
  if (isSignedInt(dtype))
    return wrapSigned(static_cast<int64_t>(bits), 8 * byteSize(dtype));
  return static_cast<int64_t>(bits);
}

void HostTensor::setF64(int64_t index, double value, Overflow overflow) {
  if (isFloat(dtype))
    return setBits(index, encodeFloat(dtype, value, overflow));
  if (dtype == DType::Bool)
    return setBits(index, value != 0);
  if (isSignedInt(dtype))
    return setBits(index, static_cast<uint64_t>(
                              toSignedSaturating(value, integerBits(dtype))));
  setBits(index, toUnsignedSaturating(value, integerBits(dtype)));
}

/// `value` as the bits that an integer or bool type stores.
static uint64_t wrapToStorage(DType dtype, uint64_t value) {
  if (dtype == DType::Bool)
    return value != 0;
  unsigned bits = integerBits(dtype);
  if (isSignedInt(dtype))
    return static_cast<uint64_t>(wrapSigned(static_cast<int64_t>(value), bits));
  return wrapUnsigned(value, bits);
}

/// An f64 of an integer that one more rounding to `dtype` makes exact; for f64
/// itself the conversion is that rounding.
template <typename T>
static double toRoundableF64(DType dtype, T value) {
  return dtype == DType::F64 ? static_cast<double>(value)
                             : toF64RoundToOdd(value);
}

void HostTensor::setI64(int64_t index, int64_t value) {
  if (isFloat(dtype))
    return setBits(index, encodeFloat(dtype, toRoundableF64(dtype, value)));
  setBits(index, wrapToStorage(dtype, static_cast<uint64_t>(value)));
}

void HostTensor::setU64(int64_t index, uint64_t value) {
  if (isFloat(dtype))
    return setBits(index, encodeFloat(dtype, toRoundableF64(dtype, value)));
  setBits(index, wrapToStorage(dtype, value));
}
