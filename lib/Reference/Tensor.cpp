//===- Tensor.cpp - the evaluator's own tensors ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Tensor.h"
#include "fusec/Support/Memory.h"
#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

Expected<Tensor> Tensor::create(DType dtype, llvm::ArrayRef<int64_t> shape,
                                int64_t maxBytes) {
  Expected<int64_t> bytes = byteCount(DType::F64, shape, maxBytes);
  if (!bytes)
    return bytes.takeError();
  if (llvm::Error error = askForMemory(*bytes, "a tensor"))
    return std::move(error);
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape.assign(shape.begin(), shape.end());
  if (tensor.isReal())
    tensor.real.resize(*bytes / 8);
  else
    tensor.whole.resize(*bytes / 8);
  return tensor;
}

Expected<Tensor> Tensor::fromHost(const HostTensor &host, int64_t maxBytes) {
  Expected<Tensor> tensor = create(host.dtype, host.shape, maxBytes);
  if (!tensor)
    return tensor;
  int64_t count = tensor->elements();
  if (!host.bytes || host.elements() != count)
    return llvm::createStringError(
        "expected %lld elements in a host tensor, found %lld",
        static_cast<long long>(count), static_cast<long long>(host.elements()));
  if (!tensor->isReal()) {
    for (int64_t i = 0; i < count; ++i)
      tensor->whole[i] = host.getI64(i);
  } else if (host.dtype == DType::F32) {
    for (int64_t i = 0; i < count; ++i) {
      float value;
      std::memcpy(&value, host.data() + 4 * i, 4);
      tensor->real[i] = value;
    }
  } else {
    for (int64_t i = 0; i < count; ++i)
      tensor->real[i] = host.getF64(i);
  }
  return tensor;
}

Expected<HostTensor> Tensor::toHost(bool wide) const {
  DType stored = wide && isReal() ? DType::F64 : dtype;
  Expected<HostTensor> host = HostTensor::create(stored, shape);
  if (!host)
    return host;
  int64_t count = elements();
  if (!isReal()) {
    for (int64_t i = 0; i < count; ++i)
      host->setI64(i, whole[i]);
  } else if (stored == DType::F32) {
    for (int64_t i = 0; i < count; ++i) {
      float value = static_cast<float>(real[i]);
      std::memcpy(host->data() + 4 * i, &value, 4);
    }
  } else {
    for (int64_t i = 0; i < count; ++i)
      host->setF64(i, real[i]);
  }
  return host;
}

double reference::roundResult(DType dtype, double value) {
  switch (dtype) {
  case DType::F64:
    return value;
  case DType::F32:
    return static_cast<float>(value);
  case DType::F8E4M3:
    return roundToFloat(dtype, value, Overflow::Saturate);
  case DType::F8E5M2:
    // Kernels compute float8 in f32: what is infinite there stays infinite.
    if (std::isinf(static_cast<float>(value)))
      return std::copysign(HUGE_VAL, value);
    return roundToFloat(dtype, value, Overflow::Saturate);
  default:
    return roundToFloat(dtype, value);
  }
}

void Tensor::normalize(bool wide) {
  if (isReal()) {
    if (wide || dtype == DType::F64)
      return;
    for (double &value : real)
      value = roundResult(dtype, value);
    return;
  }
  unsigned bits = integerBits(dtype);
  if (dtype == DType::Bool || bits == 64)
    return;
  if (isSignedInt(dtype)) {
    for (int64_t &value : whole)
      value = wrapSigned(value, bits);
  } else {
    for (int64_t &value : whole)
      value = static_cast<int64_t>(wrapUnsigned(value, bits));
  }
}

double reference::integerToReal(int64_t value, DType from, DType to) {
  if (from == DType::U64) {
    auto bits = static_cast<uint64_t>(value);
    return to == DType::F64 ? static_cast<double>(bits) : toF64RoundToOdd(bits);
  }
  return to == DType::F64 ? static_cast<double>(value) : toF64RoundToOdd(value);
}

llvm::SmallVector<int64_t, 6>
reference::stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 6> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // Only empty tensors could overflow, and their strides are never used.
    stride *= shape[i] == 0 ? 1 : shape[i];
  }
  return strides;
}
