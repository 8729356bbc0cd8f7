//===- Executable.hpp - devices, executables and runs -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_API_EXECUTABLE_HPP
#define FUSEC_API_EXECUTABLE_HPP

#include "fusec/api/Graph.hpp"

namespace fusec {

/// What runs a graph; see fusec_target.
enum class Target : int32_t {
  Auto = FUSEC_TARGET_AUTO,
  Cuda = FUSEC_TARGET_CUDA,
  Host = FUSEC_TARGET_HOST,
  Emulator = FUSEC_TARGET_EMULATOR,
  Reference = FUSEC_TARGET_REFERENCE,
};

/// How numbers may change against the graph; see fusec_numerics.
enum class Numerics : int32_t {
  Default = FUSEC_NUMERICS_DEFAULT,
  Exact = FUSEC_NUMERICS_EXACT,
};

/// What a device is; zero or empty where unknown.
struct DeviceInfo {
  Target target = Target::Host;
  int ordinal = 0;
  std::string name;
  /// 10 * major + minor; 0 on the CPU.
  int computeCapability = 0;
  int multiprocessors = 0;
  uint64_t memoryBytes = 0;
  /// True if buffers are host memory.
  bool hostMemory = false;
};

/// An opened device; see fusec_device. Thread-safe. Move-only.
class Device {
public:
  /// Opens a device; `ordinal` picks the GPU.
  static Expected<Device> create(const Context &context, Target target,
                                 int ordinal = 0) {
    fusec_device *device = nullptr;
    if (Error error{fusec_device_create(context.get(),
                                        static_cast<fusec_target>(target),
                                        ordinal, &device)})
      return error;
    return Device(device);
  }
  DeviceInfo info() const {
    fusec_device_info info = fusec_device_info_default();
    if (Error(fusec_device_get_info(get(), &info)))
      return {};
    return {static_cast<Target>(info.target),
            info.ordinal,
            info.name,
            info.compute_capability,
            info.multiprocessors,
            info.memory_bytes,
            info.host_memory != 0};
  }
  /// Waits for the work on `stream` and reports what went wrong in it.
  Error synchronize(void *stream = nullptr) const {
    return Error(fusec_device_synchronize(get(), stream));
  }
  /// Memory aligned to 256, freed by `release`.
  Expected<void *> allocate(uint64_t bytes) const {
    void *memory = nullptr;
    if (Error error{fusec_device_allocate(get(), bytes, &memory)})
      return error;
    return memory;
  }
  void release(void *memory) const { fusec_device_release(get(), memory); }
  /// Copies, ordered on `stream`; `copyOut` is done after synchronizing.
  Error copyIn(void *to, const void *from, uint64_t bytes,
               void *stream = nullptr) const {
    return Error(fusec_device_copy_in(get(), to, from, bytes, stream));
  }
  Error copyOut(void *to, const void *from, uint64_t bytes,
                void *stream = nullptr) const {
    return Error(fusec_device_copy_out(get(), to, from, bytes, stream));
  }

  /// Takes a C handle.
  explicit Device(fusec_device *device) : handle(device) {}
  fusec_device *get() const { return handle.get(); }

private:
  detail::Handle<fusec_device, fusec_device_free> handle;
};

class Executable;

/// Options of compilation; see fusec_compile_options.
struct CompileOptions {
  /// Where to run; null opens a device for `target` and `ordinal`.
  const Device *device = nullptr;
  Target target = Target::Auto;
  int ordinal = 0;
  /// 0 (the device's), 80 or 90.
  int computeCapability = 0;
  Numerics numerics = Numerics::Default;
  /// An item's results have the same bits in batches of all sizes.
  bool batchInvariant = false;
  /// False: one kernel per op.
  bool fuse = true;
  /// Makes kernels without a device; the result cannot run.
  bool compileOnly = false;
  /// Not null: takes plan and kernels of this executable of the same graph in
  /// other sizes (another batch).
  const Executable *like = nullptr;
  /// Greater than 0: times the candidates of each kernel on the device
  /// first, for at most so many seconds, and keeps what won.
  double tuneSeconds = 0;
  /// False: the model chooses, also where a search found something before.
  bool useTuningRecord = true;
  /// False: no products by the vendor's library (cuBLASLt), also where a search
  /// finds or found it the fastest.
  bool useVendor = true;
};

/// One kernel; see fusec_kernel_info. Numbers are -1 where unknown.
struct KernelInfo {
  std::string name, source;
  unsigned threads = 1, launches = 0;
  std::vector<std::string> ops;
  int64_t bytes = -1;
  int registers = -1, staticSharedBytes = -1, localBytes = -1;
  int spillStoreBytes = -1, spillLoadBytes = -1;
};

/// Bytes in host memory.
struct HostArray {
  void *data = nullptr;
  uint64_t bytes = 0;
};

/// Frees a tensor that the library allocated.
struct TensorDelete {
  void operator()(DLManagedTensor *tensor) const {
    if (tensor->deleter)
      tensor->deleter(tensor);
  }
};
/// An owned DLPack tensor; `release()` hands it to another library.
using OwnedTensor = std::unique_ptr<DLManagedTensor, TensorDelete>;

/// A compiled graph; see fusec_executable. Immutable, shared by threads.
/// Move-only.
class Executable {
public:
  std::vector<TensorInfo> inputs() const {
    return detail::allInfos<fusec_executable>(
        get(), fusec_executable_num_inputs(get()), fusec_executable_input);
  }
  std::vector<TensorInfo> outputs() const {
    return detail::allInfos<fusec_executable>(
        get(), fusec_executable_num_outputs(get()), fusec_executable_output);
  }
  /// Bytes of scratch memory that an execution context needs.
  uint64_t workspaceBytes() const {
    return fusec_executable_workspace_bytes(get());
  }
  /// The device it runs on; an error if it was only compiled.
  Expected<Device> device() const {
    fusec_device *device = nullptr;
    if (Error error{fusec_executable_device(get(), &device)})
      return error;
    return Device(device);
  }
  std::vector<KernelInfo> kernels() const {
    std::vector<KernelInfo> result;
    for (size_t i = 0; i < fusec_executable_num_kernels(get()); ++i) {
      fusec_kernel_info info = fusec_kernel_info_default();
      if (Error(fusec_executable_kernel(get(), i, &info)))
        continue;
      KernelInfo kernel;
      kernel.name = info.name;
      kernel.source = info.source;
      kernel.threads = info.threads;
      kernel.launches = info.launches;
      kernel.ops.assign(info.ops, info.ops + info.num_ops);
      kernel.bytes = info.bytes;
      kernel.registers = info.registers;
      kernel.staticSharedBytes = info.static_shared_bytes;
      kernel.localBytes = info.local_bytes;
      kernel.spillStoreBytes = info.spill_store_bytes;
      kernel.spillLoadBytes = info.spill_load_bytes;
      result.push_back(std::move(kernel));
    }
    return result;
  }
  /// The PTX of kernel `index`; needs NVRTC but no GPU.
  Expected<std::string> kernelPtx(size_t index) const {
    char *text = nullptr;
    if (Error error{fusec_executable_kernel_ptx(get(), index, &text)})
      return error;
    std::string copy(text);
    fusec_string_free(text);
    return copy;
  }
  /// The plan as JSON; lives as long as this.
  const char *planJson() const { return fusec_executable_plan_json(get()); }

  /// Device memory for output `index`, uninitialised, which outlives this.
  Expected<OwnedTensor> allocateOutput(size_t index) const {
    DLManagedTensor *tensor = nullptr;
    if (Error error{fusec_executable_allocate_output(get(), index, &tensor)})
      return error;
    return OwnedTensor(tensor);
  }
  /// Runs once with host memory and waits; for tests and tools.
  Error runHost(const std::vector<HostArray> &inputs,
                const std::vector<HostArray> &outputs) const {
    std::vector<fusec_host_array> in, out;
    for (const HostArray &array : inputs)
      in.push_back({array.data, array.bytes});
    for (const HostArray &array : outputs)
      out.push_back({array.data, array.bytes});
    return Error(fusec_executable_run_host(get(), in.data(), in.size(),
                                           out.data(), out.size()));
  }

  /// Takes a C handle.
  explicit Executable(fusec_executable *executable) : handle(executable) {}
  fusec_executable *get() const { return handle.get(); }

private:
  detail::Handle<fusec_executable, fusec_executable_free> handle;
};

/// Compiles a bound graph; see fusec_compile.
inline Expected<Executable> compile(const Graph &graph,
                                    const CompileOptions &options = {}) {
  fusec_compile_options raw = fusec_compile_options_default();
  raw.device = options.device ? options.device->get() : nullptr;
  raw.target = static_cast<fusec_target>(options.target);
  raw.ordinal = options.ordinal;
  raw.compute_capability = options.computeCapability;
  raw.batch_invariant = options.batchInvariant;
  raw.numerics = static_cast<fusec_numerics>(options.numerics);
  raw.fusion = options.fuse ? FUSEC_FUSION_ON : FUSEC_FUSION_OFF;
  raw.compile_only = options.compileOnly;
  raw.like = options.like ? options.like->get() : nullptr;
  raw.tune_seconds = options.tuneSeconds;
  raw.no_tuning_record = !options.useTuningRecord;
  raw.no_vendor = !options.useVendor;
  fusec_executable *executable = nullptr;
  if (Error error{fusec_compile(graph.get(), &raw, &executable)})
    return error;
  return Executable(executable);
}

/// Options of an execution context; see fusec_execution_options.
struct ExecutionOptions {
  /// The caller's scratch memory, aligned to 256; null: the context's own.
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
  /// Waits after each step, to find the kernel that faults.
  bool checkEachStep = false;
  /// Keep three or more launches in a row as a CUDA graph.
  bool replay = true;
  /// Let kernels begin while the one before them ends.
  bool overlap = true;
  /// The caller's allocator in place of a workspace; both or neither. See
  /// fusec_execution_options.
  void *(*allocate)(void *user, uint64_t bytes, void *stream) = nullptr;
  void (*release)(void *user, void *memory, uint64_t bytes,
                  void *stream) = nullptr;
  void *user = nullptr;
};

/// What one stream at a time needs to run an executable, which it keeps alive;
/// see fusec_execution_context. One thread at a time. Move-only.
class ExecutionContext {
public:
  static Expected<ExecutionContext>
  create(const Executable &executable, const ExecutionOptions &options = {}) {
    fusec_execution_options raw = fusec_execution_options_default();
    raw.workspace = options.workspace;
    raw.workspace_bytes = options.workspaceBytes;
    raw.check_each_step = options.checkEachStep;
    raw.no_replay = !options.replay;
    raw.no_overlap = !options.overlap;
    raw.allocate = options.allocate;
    raw.release = options.release;
    raw.user = options.user;
    fusec_execution_context *context = nullptr;
    if (Error error{
            fusec_execution_context_create(executable.get(), &raw, &context)})
      return error;
    return ExecutionContext(context);
  }

  /// Enqueues a run on `stream`; see fusec_execution_context_run, also for the
  /// few runs that compile or allocate.
  Error run(const void *const *inputs, size_t numInputs, void *const *outputs,
            size_t numOutputs, void *stream = nullptr) const {
    return Error(fusec_execution_context_run(get(), inputs, numInputs, outputs,
                                             numOutputs, stream));
  }
  Error run(const std::vector<const void *> &inputs,
            const std::vector<void *> &outputs, void *stream = nullptr) const {
    return run(inputs.data(), inputs.size(), outputs.data(), outputs.size(),
               stream);
  }
  /// The same with checked DLPack tensors; inputs may have strides.
  Error run(const std::vector<const DLTensor *> &inputs,
            const std::vector<const DLTensor *> &outputs,
            void *stream = nullptr) const {
    return Error(fusec_execution_context_run_dlpack(
        get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(),
        stream));
  }
  /// Compiles and allocates what a run with such tensors needs, so that it may
  /// be captured; see fusec_execution_context_prepare_dlpack.
  Error prepare(const std::vector<const DLTensor *> &inputs,
                const std::vector<const DLTensor *> &outputs) const {
    return Error(fusec_execution_context_prepare_dlpack(
        get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }
  /// Waits for the work on `stream` and reports what went wrong in it.
  Error synchronize(void *stream = nullptr) const {
    return Error(fusec_execution_context_synchronize(get(), stream));
  }

  /// Takes a C handle.
  explicit ExecutionContext(fusec_execution_context *context)
      : handle(context) {}
  fusec_execution_context *get() const { return handle.get(); }

private:
  detail::Handle<fusec_execution_context, fusec_execution_context_free> handle;
};

} // namespace fusec

#endif // FUSEC_API_EXECUTABLE_HPP
