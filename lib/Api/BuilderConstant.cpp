//===- BuilderConstant.cpp - constants of built graphs --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Builder.h"
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Reference/Attributes.h"
#include "mlir/IR/AsmState.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;

/// Values above this size are kept outside the context's attribute storage.
static constexpr uint64_t kMaxInlineBytes = 1024;

namespace {
/// Bytes of the caller, given back when the last reader is gone.
struct Borrowed {
  Borrowed(void (*release)(void *), void *user)
      : release(release), user(user) {}
  Borrowed(const Borrowed &) = delete;
  Borrowed &operator=(const Borrowed &) = delete;
  void (*release)(void *);
  void *user;
  ~Borrowed() {
    if (release)
      release(user);
  }
};

/// A constant as the caller hands it over.
struct ConstantRequest {
  const char *name;
  fusec_dtype dtype;
  int32_t rank;
  const int64_t *shape;
  const void *data;
  uint64_t bytes;
};
} // namespace

/// True where memory may hold other bits than those of the values.
static bool needsNormalising(DType dtype) {
  return dtype == DType::Bool || dtype == DType::I4 || dtype == DType::U4;
}

/// A copy of the caller's bytes; bools become 0 or 1, 4-bit values are
/// extended.
static llvm::Expected<HostTensor> copyTensor(DType dtype, DimsRef shape,
                                             const void *data) {
  llvm::Expected<HostTensor> tensor = HostTensor::create(dtype, shape);
  if (!tensor || tensor->bytes->empty())
    return tensor;
  std::memcpy(tensor->data(), data, tensor->bytes->size());
  if (needsNormalising(dtype))
    for (int64_t i = 0, e = tensor->elements(); i < e; ++i) {
      auto byte = static_cast<int64_t>(tensor->getBits(i));
      tensor->setI64(i, byte);
    }
  return tensor;
}

/// The type of a requested constant, whose size must be right.
static RankedTensorType readConstant(GraphMaker &b, const ConstantRequest &r) {
  Dims shape;
  if (!b.checkDType(r.dtype) || !b.readShape(r.rank, r.shape, shape))
    return {};
  RankedTensorType type = b.tensor(static_cast<DType>(r.dtype), shape);
  if (!type)
    return {};
  uint64_t expected =
      type.getNumElements() * byteSize(static_cast<DType>(r.dtype));
  if (r.bytes != expected) {
    b.fail("expected " + llvm::Twine(expected) + " bytes, found " +
           llvm::Twine(r.bytes));
    return {};
  }
  if (expected && !r.data) {
    b.fail("expected a pointer to " + llvm::Twine(expected) +
           " bytes, found null");
    return {};
  }
  return type;
}

static StringRef nameOf(const ConstantRequest &r) {
  return r.name && *r.name ? StringRef(r.name) : "constant";
}

static Value copyConstant(GraphMaker &b, const ConstantRequest &r,
                          RankedTensorType type) {
  auto dtype = static_cast<DType>(r.dtype);
  auto tensor = copyTensor(dtype, type.getShape(), r.data);
  if (!tensor)
    return b.fail(llvm::toString(tensor.takeError()));
  if (r.bytes <= kMaxInlineBytes || dtype == DType::Bool)
    return b.constant(reference::toAttribute(*tensor, b.getContext()));
  return b.constant(graph::makeResource(type, nameOf(r), tensor->bytes));
}

fusec_value fusec_builder_constant(fusec_builder *builder, const char *name,
                                   fusec_dtype dtype, int32_t rank,
                                   const int64_t *shape, const void *data,
                                   uint64_t bytes) {
  return buildStep(builder, "constant", [&](GraphMaker &b) -> Value {
    ConstantRequest request{name, dtype, rank, shape, data, bytes};
    RankedTensorType type = readConstant(b, request);
    return type ? copyConstant(b, request, type) : Value();
  });
}

fusec_value fusec_builder_constant_ref(fusec_builder *builder, const char *name,
                                       fusec_dtype dtype, int32_t rank,
                                       const int64_t *shape, const void *data,
                                       uint64_t bytes,
                                       void (*release)(void *user),
                                       void *user) {
  // Lives in this frame, so that the bytes are given back whatever goes wrong.
  std::shared_ptr<Borrowed> owner;
  fusec_value value =
      buildStep(builder, "constant_ref", [&](GraphMaker &b) -> Value {
        owner = std::make_shared<Borrowed>(release, user);
        ConstantRequest request{name, dtype, rank, shape, data, bytes};
        RankedTensorType type = readConstant(b, request);
        if (!type)
          return {};
        if (bytes == 0 || needsNormalising(static_cast<DType>(dtype)))
          return copyConstant(b, request, type);
        llvm::ArrayRef<std::byte> view(static_cast<const std::byte *>(data),
                                       bytes);
        // Executables have a copy: the caller gets the memory back with the
        // graph.
        return b.constant(graph::makeResource(
            type, nameOf(request), std::make_shared<Bytes>(view, owner),
            graph::Sharing::No));
      });
  if (!owner && release)
    release(user);
  return value;
}

fusec_value fusec_builder_full(fusec_builder *builder, fusec_dtype dtype,
                               int32_t rank, const int64_t *shape,
                               double value) {
  return buildStep(builder, "full", [&](GraphMaker &b) -> Value {
    Dims dims;
    if (!b.checkDType(dtype) || !b.readShape(rank, shape, dims))
      return {};
    return b.broadcastTo(b.scalar(static_cast<DType>(dtype), value), dims);
  });
}

fusec_value fusec_builder_iota(fusec_builder *builder, fusec_dtype dtype,
                               int32_t rank, const int64_t *shape,
                               int32_t dimension) {
  return buildStep(builder, "iota", [&](GraphMaker &b) -> Value {
    Dims dims;
    int64_t dim;
    if (!b.checkDType(dtype) || !b.readShape(rank, shape, dims) ||
        !b.readDim(dimension, rank, dim))
      return {};
    return b.make("graph.iota", {}, b.tensor(static_cast<DType>(dtype), dims),
                  b.integer("dimension", dim));
  });
}

fusec_value fusec_builder_philox(fusec_builder *builder, fusec_value seed,
                                 fusec_value offset, int32_t rank,
                                 const int64_t *shape) {
  return buildStep(builder, "philox", [&](GraphMaker &b) -> Value {
    Dims dims;
    Value key = b.use(seed), counter = b.use(offset);
    if (!key || !counter || !b.readShape(rank, shape, dims))
      return {};
    return b.make("graph.philox", {key, counter}, b.tensor(DType::U32, dims));
  });
}
