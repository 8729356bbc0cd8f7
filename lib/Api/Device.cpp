//===- Device.cpp - devices -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Device.h"

using namespace fusec;
using namespace fusec::api;

static_assert(FUSEC_TARGET_CUDA == int(session::TargetKind::Cuda) + 1 &&
              FUSEC_TARGET_REFERENCE ==
                  int(session::TargetKind::Reference) + 1);

fusec_error *api::openDevice(std::shared_ptr<const Settings> settings,
                             fusec_target target, int32_t ordinal,
                             std::optional<TargetInfo> machine,
                             std::shared_ptr<const DeviceData> &result) {
  if (target < FUSEC_TARGET_AUTO || target > FUSEC_TARGET_REFERENCE)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "target: expected 0 to 4, found " + llvm::Twine(target));
  bool mayBeCuda = target == FUSEC_TARGET_AUTO || target == FUSEC_TARGET_CUDA;
  if (ordinal < 0 || (ordinal > 0 && !mayBeCuda))
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "ordinal: expected " +
                         llvm::Twine(mayBeCuda ? "at least 0" : "0") +
                         ", found " + llvm::Twine(ordinal));
  session::OpenOptions options;
  options.ordinal = ordinal;
  options.machine = machine;
  options.cache = settings->cache;
  options.onNoGpu = [&](llvm::StringRef why) {
    settings->say(FUSEC_LOG_WARNING,
                  "no GPU (" + why + "); running on the host");
  };
  auto opened =
      target == FUSEC_TARGET_AUTO
          ? session::openDefaultTarget(options)
          : session::openTarget(static_cast<session::TargetKind>(target - 1),
                                options);
  if (!opened)
    return toError(opened.takeError(), FUSEC_NO_DEVICE);
  auto device = std::make_shared<DeviceData>();
  device->settings = std::move(settings);
  device->target = std::move(*opened);
  // The host stands in for any GPU.
  device->ordinal =
      device->target.kind == session::TargetKind::Cuda ? ordinal : 0;
  device->settings->say(FUSEC_LOG_INFO,
                        "opened " + session::name(device->target.kind) +
                            " device '" + device->target.device->info().name +
                            "'");
  result = std::move(device);
  return nullptr;
}

/// Runs `body` on the device behind a handle; its errors have code `otherwise`.
static fusec_error *
withDevice(const fusec_device *device,
           llvm::function_ref<llvm::Error(runtime::Device &)> body,
           fusec_code otherwise = FUSEC_FAILED) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(device, "device"))
      return error;
    return toError(body(*device->data->target.device), otherwise);
  });
}

fusec_error *fusec_device_create(fusec_context *context, fusec_target target,
                                 int32_t ordinal, fusec_device **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(context, "context"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    std::shared_ptr<const DeviceData> data;
    if (fusec_error *error =
            openDevice(context->settings, target, ordinal, std::nullopt, data))
      return error;
    *result = new fusec_device{std::move(data)};
    return nullptr;
  });
}

void fusec_device_free(fusec_device *device) { delete device; }

fusec_error *fusec_device_get_info(const fusec_device *device,
                                   fusec_device_info *info) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(device, "device"))
      return error;
    const DeviceData &data = *device->data;
    const runtime::DeviceInfo &known = data.target.device->info();
    fusec_device_info value = fusec_device_info_default();
    value.target = static_cast<fusec_target>(data.target.kind) + 1;
    value.ordinal = data.ordinal;
    value.name = data.target.kind == session::TargetKind::Reference
                     ? "reference"
                     : known.name.c_str();
    value.compute_capability = static_cast<int32_t>(known.computeCapability);
    value.multiprocessors = static_cast<int32_t>(known.multiprocessors);
    value.memory_bytes = known.memoryBytes;
    value.host_memory = known.hostMemory;
    return writeStruct(value, FUSEC_END_OF(fusec_device_info, host_memory),
                       "fusec_device_info", info);
  });
}

fusec_error *fusec_device_synchronize(fusec_device *device, void *stream) {
  return withDevice(device,
                    [&](runtime::Device &d) { return d.synchronize(stream); });
}

fusec_error *fusec_device_allocate(fusec_device *device, uint64_t bytes,
                                   void **result) {
  if (fusec_error *error = requireNotNull(result, "result"))
    return error;
  return withDevice(
      device,
      [&](runtime::Device &d) -> llvm::Error {
        llvm::Expected<void *> memory = d.allocate(bytes);
        if (!memory)
          return memory.takeError();
        *result = *memory;
        return llvm::Error::success();
      },
      FUSEC_OUT_OF_MEMORY);
}

void fusec_device_release(fusec_device *device, void *memory) {
  if (device && memory)
    device->data->target.device->free(memory);
}

/// Null is fine where nothing is copied.
static llvm::Error checkRange(const void *to, const void *from,
                              uint64_t bytes) {
  if (!bytes || (to && from))
    return llvm::Error::success();
  return session::sessionError(session::ErrorClass::InvalidArgument,
                               "copy: expected two pointers, found null");
}

fusec_error *fusec_device_copy_in(fusec_device *device, void *to,
                                  const void *from, uint64_t bytes,
                                  void *stream) {
  return withDevice(device, [&](runtime::Device &d) -> llvm::Error {
    if (llvm::Error error = checkRange(to, from, bytes))
      return error;
    return bytes ? d.copyIn(to, from, bytes, stream) : llvm::Error::success();
  });
}

fusec_error *fusec_device_copy_out(fusec_device *device, void *to,
                                   const void *from, uint64_t bytes,
                                   void *stream) {
  return withDevice(device, [&](runtime::Device &d) -> llvm::Error {
    if (llvm::Error error = checkRange(to, from, bytes))
      return error;
    return bytes ? d.copyOut(to, from, bytes, stream) : llvm::Error::success();
  });
}
