//===- Executable.cpp - looking at executables ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Objects.h"

using namespace fusec;
using namespace fusec::api;

size_t fusec_executable_num_inputs(const fusec_executable *executable) {
  return executable ? executable->data->inputs.size() : 0;
}
size_t fusec_executable_num_outputs(const fusec_executable *executable) {
  return executable ? executable->data->outputs.size() : 0;
}
size_t fusec_executable_num_kernels(const fusec_executable *executable) {
  return executable ? executable->data->kernels.size() : 0;
}
uint64_t fusec_executable_workspace_bytes(const fusec_executable *executable) {
  return executable ? executable->data->program().workspaceBytes : 0;
}
const char *fusec_executable_plan_json(const fusec_executable *executable) {
  return executable ? executable->data->plan.c_str() : "{}";
}

fusec_error *fusec_executable_input(const fusec_executable *executable,
                                    size_t index, fusec_tensor_info *info) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(executable, "executable"))
      return error;
    return writeTensor(executable->data->inputs, index, "input", info);
  });
}
fusec_error *fusec_executable_output(const fusec_executable *executable,
                                     size_t index, fusec_tensor_info *info) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(executable, "executable"))
      return error;
    return writeTensor(executable->data->outputs, index, "output", info);
  });
}

fusec_error *fusec_executable_device(const fusec_executable *executable,
                                     fusec_device **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(executable, "executable"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    *result = executable->data->device
                  ? new fusec_device{executable->data->device}
                  : nullptr;
    return nullptr;
  });
}

static fusec_error *checkKernel(const fusec_executable *executable,
                                size_t index) {
  if (fusec_error *error = requireNotNull(executable, "executable"))
    return error;
  size_t count = executable->data->kernels.size();
  if (index < count)
    return nullptr;
  return makeError(FUSEC_INVALID_ARGUMENT, "kernel " + llvm::Twine(index) +
                                               ": expected a number below " +
                                               llvm::Twine(count));
}

static int32_t orUnknown(std::optional<uint32_t> number) {
  return number ? static_cast<int32_t>(*number) : -1;
}

fusec_error *fusec_executable_kernel(const fusec_executable *executable,
                                     size_t index, fusec_kernel_info *info) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = checkKernel(executable, index))
      return error;
    const ExecutableData &data = *executable->data;
    const runtime::Kernel &kernel = data.program().kernels[index];
    const KernelDescription &known = data.kernels[index];
    runtime::KernelResources resources;
    if (data.loaded)
      resources = data.loaded->kernel(index).resources;
    fusec_kernel_info value = fusec_kernel_info_default();
    value.name = kernel.entry.c_str();
    value.source = kernel.source.c_str();
    value.threads = kernel.threads;
    value.launches = known.launches;
    value.num_ops = known.ops.size();
    value.ops = known.opPointers.data();
    value.bytes = known.bytes;
    value.registers = orUnknown(resources.registers);
    value.static_shared_bytes = orUnknown(resources.staticSharedBytes);
    value.local_bytes = orUnknown(resources.localBytes);
    value.spill_store_bytes = orUnknown(resources.spillStoreBytes);
    value.spill_load_bytes = orUnknown(resources.spillLoadBytes);
    return writeStruct(value, FUSEC_END_OF(fusec_kernel_info, spill_load_bytes),
                       "fusec_kernel_info", info);
  });
}

fusec_error *fusec_executable_kernel_ptx(const fusec_executable *executable,
                                         size_t index, char **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = checkKernel(executable, index))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    const ExecutableData &data = *executable->data;
    if (data.kind == session::TargetKind::Host)
      return makeError(FUSEC_UNSUPPORTED, "the host's kernels have no PTX");
    auto nvrtc = runtime::Nvrtc::open();
    if (!nvrtc)
      return toError(nvrtc.takeError(), FUSEC_NO_DEVICE);
    runtime::NvrtcCompiler compiler(*nvrtc, session::nvrtcOptions(data.machine),
                                    data.settings->cache);
    auto module = compiler.compileTogether(data.program().kernels[index]);
    if (!module)
      return toError(module.takeError(), FUSEC_FAILED);
    char *copy = copyString((*module)->ptx);
    if (!copy)
      return makeError(FUSEC_OUT_OF_MEMORY, "memory was refused");
    *result = copy;
    return nullptr;
  });
}
