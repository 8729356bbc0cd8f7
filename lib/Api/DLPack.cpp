//===- DLPack.cpp - tensors of other libraries ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Execute.h"

using namespace fusec;
using namespace fusec::api;
using session::quoted;

/// DLPack's type of an element type: its own code and bits.
static DLDataType toDLPack(DType dtype) {
  auto bits = static_cast<uint8_t>(8 * byteSize(dtype));
  switch (dtype) {
  case DType::F64:
  case DType::F32:
  case DType::F16:
    return {kDLFloat, bits, 1};
  case DType::BF16:
    return {kDLBfloat, bits, 1};
  case DType::F8E4M3:
    return {kDLFloat8_e4m3fn, bits, 1};
  case DType::F8E5M2:
    return {kDLFloat8_e5m2, bits, 1};
  case DType::Bool:
    return {kDLBool, bits, 1};
  default:
    break;
  }
  return {static_cast<uint8_t>(isSignedInt(dtype) ? kDLInt : kDLUInt), bits, 1};
}

static bool isType(DLDataType found, DType wanted) {
  DLDataType exact = toDLPack(wanted);
  if (found.lanes != 1 || found.bits != exact.bits)
    return false;
  return found.code == exact.code ||
         (wanted == DType::Bool && found.code == kDLUInt);
}

/// "f32", or the bare code for types that fusec lacks.
static std::string describeType(DLDataType type) {
  for (int i = FUSEC_F64; i <= FUSEC_BOOL; ++i) {
    auto dtype = static_cast<DType>(i);
    if (DLDataType known = toDLPack(dtype);
        known.code == type.code && known.bits == type.bits && type.lanes == 1 &&
        dtype != DType::I4 && dtype != DType::U4)
      return name(dtype).str();
  }
  return "DLPack type (" + std::to_string(type.code) + ", " +
         std::to_string(type.bits) + ", " + std::to_string(type.lanes) + ")";
}

std::string api::describeShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

static bool isOnDevice(const DeviceData &device, DLDevice found) {
  int type = found.device_type;
  if (device.target.kind != session::TargetKind::Cuda)
    return type == kDLCPU || type == kDLCUDAHost || type == kDLCUDAManaged;
  return type == kDLCUDAManaged ||
         (type == kDLCUDA && found.device_id == device.ordinal);
}

/// Whether the tensor is row-major without gaps. Strides of dimensions of size
/// 1 mean nothing, nor do any of an empty tensor.
static bool isDense(llvm::ArrayRef<int64_t> shape, const int64_t *strides) {
  if (!strides || llvm::is_contained(shape, 0))
    return true;
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

fusec_error *api::readTensor(const DeviceData &device,
                             const runtime::TensorSpec &spec, const char *kind,
                             const DLTensor *tensor,
                             runtime::TensorView &view) {
  auto fail = [&](const llvm::Twine &message) {
    return makeError(FUSEC_INVALID_ARGUMENT, llvm::Twine(kind) + " " +
                                                 quoted(spec.name) + ": " +
                                                 message);
  };
  if (!tensor)
    return fail("expected a tensor, found null");
  if (!isOnDevice(device, tensor->device))
    return fail("expected a tensor on " + session::name(device.target.kind) +
                " device " + llvm::Twine(device.ordinal) +
                ", found DLPack device type " +
                llvm::Twine(int(tensor->device.device_type)) + ", id " +
                llvm::Twine(tensor->device.device_id));
  if (!isType(tensor->dtype, spec.dtype))
    return fail("expected element type " + name(spec.dtype) + ", found " +
                describeType(tensor->dtype));
  if (tensor->ndim < 0 || size_t(tensor->ndim) != spec.shape.size() ||
      (tensor->ndim && !tensor->shape))
    return fail("expected rank " + llvm::Twine(spec.shape.size()) + ", found " +
                llvm::Twine(tensor->ndim));
  llvm::ArrayRef<int64_t> shape(tensor->shape, spec.shape.size());
  if (shape != llvm::ArrayRef<int64_t>(spec.shape))
    return fail("expected shape " + describeShape(spec.shape) + ", found " +
                describeShape(shape));
  // An empty tensor may be null, to which nothing can be added.
  view = {tensor->data, tensor->data ? int64_t(tensor->byte_offset) : 0,
          isDense(shape, tensor->strides)
              ? llvm::ArrayRef<int64_t>()
              : llvm::ArrayRef(tensor->strides, shape.size())};
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

namespace {
/// Device memory behind a DLManagedTensor.
struct OwnedTensor {
  runtime::Buffer memory;
  std::vector<int64_t> shape, strides;
  DLManagedTensor managed = {};
};
} // namespace

static std::vector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

static void deleteTensor(DLManagedTensor *self) {
  if (self)
    delete static_cast<OwnedTensor *>(self->manager_ctx);
}

fusec_error *
fusec_executable_allocate_output(const fusec_executable *executable,
                                 size_t index, DLManagedTensor **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(executable, "executable"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    const ExecutableData &data = *executable->data;
    size_t count = data.outputs.size();
    if (index >= count)
      return makeError(FUSEC_INVALID_ARGUMENT,
                       "output " + llvm::Twine(index) +
                           ": expected a number below " + llvm::Twine(count));
    if (!data.device)
      return makeError(FUSEC_INVALID_ARGUMENT,
                       "the executable was only compiled: it has no device");
    const runtime::TensorSpec &spec = data.program().outputs[index];
    auto buffer =
        runtime::Buffer::allocate(data.device->target.device, spec.bytes());
    if (!buffer)
      return toError(buffer.takeError(), FUSEC_OUT_OF_MEMORY);
    auto owned = std::make_unique<OwnedTensor>();
    owned->memory = std::move(*buffer);
    owned->shape = spec.shape;
    owned->strides = denseStrides(spec.shape);
    bool isCuda = data.kind == session::TargetKind::Cuda;
    DLTensor &tensor = owned->managed.dl_tensor;
    tensor.data = owned->memory.data();
    tensor.device = {isCuda ? kDLCUDA : kDLCPU, data.device->ordinal};
    tensor.ndim = static_cast<int32_t>(owned->shape.size());
    tensor.dtype = toDLPack(spec.dtype);
    tensor.shape = owned->shape.data();
    tensor.strides = owned->strides.data();
    owned->managed.manager_ctx = owned.get();
    owned->managed.deleter = deleteTensor;
    *result = &owned.release()->managed;
    return nullptr;
  });
}
