//===- Attributes.cpp - constants as host tensors -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Reference/Attributes.h"
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <cstring>

using namespace mlir;
using namespace fusec;
using llvm::Expected;

/// The bits of a number attribute, zero-extended.
static uint64_t bitsOf(Attribute element) {
  if (auto real = dyn_cast<FloatAttr>(element))
    return real.getValue().bitcastToAPInt().getZExtValue();
  return cast<IntegerAttr>(element).getValue().getZExtValue();
}

/// Stores the low bits of an element as memory has them: 4-bit integers are
/// extended to a byte.
static void storeBits(HostTensor &tensor, int64_t index, uint64_t bits) {
  if (isSignedInt(tensor.dtype))
    bits = static_cast<uint64_t>(
        wrapSigned(static_cast<int64_t>(bits), integerBits(tensor.dtype)));
  tensor.setBits(index, bits);
}

static void fillFromDense(HostTensor &tensor, DenseElementsAttr attribute) {
  int64_t count = tensor.elements();
  if (attribute.isSplat()) {
    uint64_t bits = bitsOf(attribute.getSplatValue<Attribute>());
    for (int64_t i = 0; i < count; ++i)
      storeBits(tensor, i, bits);
    return;
  }
  if (isFloat(tensor.dtype)) {
    for (auto [i, value] : llvm::enumerate(attribute.getValues<APFloat>()))
      tensor.setBits(i, value.bitcastToAPInt().getZExtValue());
    return;
  }
  for (auto [i, value] : llvm::enumerate(attribute.getValues<APInt>()))
    storeBits(tensor, i, value.getZExtValue());
}

static llvm::Error fillFromResource(HostTensor &tensor,
                                    DenseResourceElementsAttr attribute) {
  AsmResourceBlob *blob = attribute.getRawHandle().getBlob();
  if (!blob)
    return llvm::createStringError("the constant's resource has no data");
  ArrayRef<char> data = blob->getData();
  if (data.size() != tensor.bytes->size())
    return llvm::createStringError(
        "the constant's resource must have %zu bytes, found %zu",
        tensor.bytes->size(), data.size());
  std::memcpy(tensor.data(), data.data(), data.size());
  return llvm::Error::success();
}

Expected<HostTensor> reference::toHostTensor(ElementsAttr attribute,
                                             int64_t maxBytes) {
  auto type = dyn_cast<RankedTensorType>(attribute.getType());
  std::optional<DType> dtype;
  if (type && type.hasStaticShape())
    dtype = graph::toDType(type.getElementType());
  if (!dtype)
    return llvm::createStringError(
        "the constant is no tensor of a fusec element type");
  Expected<HostTensor> tensor =
      HostTensor::create(*dtype, type.getShape(), maxBytes);
  if (!tensor)
    return tensor;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute)) {
    fillFromDense(*tensor, dense);
    return tensor;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
  if (!resource)
    return llvm::createStringError(
        "the constant is neither dense nor dense_resource");
  if (llvm::Error error = fillFromResource(*tensor, resource))
    return std::move(error);
  return tensor;
}

Expected<std::shared_ptr<const Bytes>>
reference::toBytes(ElementsAttr attribute) {
  auto type = cast<RankedTensorType>(attribute.getType());
  std::optional<DType> dtype = graph::toDType(type.getElementType());
  std::shared_ptr<const Bytes> shared = graph::sharedBytes(attribute);
  if (shared && dtype &&
      int64_t(shared->size()) == type.getNumElements() * byteSize(*dtype))
    return shared;
  Expected<HostTensor> tensor = toHostTensor(attribute);
  if (!tensor)
    return tensor.takeError();
  return std::shared_ptr<const Bytes>(std::move(tensor->bytes));
}

DenseElementsAttr reference::toAttribute(const HostTensor &tensor,
                                         MLIRContext *context) {
  Type element = graph::fromDType(context, tensor.dtype);
  auto type = RankedTensorType::get(tensor.shape, element);
  int64_t count = tensor.elements();
  bool isSplat = count > 0;
  for (int64_t i = 1; i < count && isSplat; ++i)
    isSplat = tensor.getBits(i) == tensor.getBits(0);
  int64_t stored = isSplat ? 1 : count;
  if (auto real = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> values;
    for (int64_t i = 0; i < stored; ++i)
      values.emplace_back(real.getFloatSemantics(),
                          APInt(real.getWidth(), tensor.getBits(i)));
    return DenseElementsAttr::get(type, values);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  SmallVector<APInt> values;
  for (int64_t i = 0; i < stored; ++i)
    values.push_back(APInt(64, tensor.getBits(i)).trunc(width));
  return DenseElementsAttr::get(type, values);
}
