//===- Executable.h - a program on a device ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Executable` is a program whose kernels and constants are on a device; it
// never changes and is shared by threads. `ExecutionContext` adds what one
// stream needs to run it: a workspace and argument blocks made in advance, so
// that `run` only stores the caller's pointers and launches.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_EXECUTABLE_H
#define FUSEC_RUNTIME_EXECUTABLE_H

#include "fusec/Runtime/Device.h"
#include "fusec/Runtime/StridedCopy.h"

#include <functional>
#include <map>
#include <mutex>

namespace fusec::runtime {

/// Another form of a kernel, for pointers that a program was not made for.
struct KernelVariant {
  /// As those of a Kernel.
  uint32_t alignment = kBufferAlignment;
  bool inPlace = false;
  uint32_t rolledColumns = 0, rolledUnit = 0, rolledFirst = 0;
  friend auto operator<=>(const KernelVariant &,
                          const KernelVariant &) = default;
};

/// An immutable loaded program. Thread-safe. Must outlive the work that was
/// enqueued for it; contexts keep it alive.
class Executable {
public:
  /// Verifies the program, checks it against the limits of the device, loads
  /// its kernels and uploads its constants once.
  static llvm::Expected<std::shared_ptr<const Executable>>
  create(Program program, std::shared_ptr<Device> device);

  const Program &program() const { return code; }
  const std::shared_ptr<Device> &device() const { return target; }
  /// Another executable of the same loaded kernels whose constants are at
  /// addresses of their own: for measurements that must not find them in a
  /// cache.
  llvm::Expected<std::shared_ptr<const Executable>> withOwnConstants() const;
  /// Bytes of workspace that each context needs.
  uint64_t workspaceBytes() const { return code.workspaceBytes; }
  const LoadedKernel &kernel(size_t index) const {
    return module->kernel(index);
  }
  /// What the vendor's library computes in place of the kernel of step `index`;
  /// null where the kernel runs.
  const LoadedProduct *product(size_t index) const {
    return index < products.size() ? products[index].get() : nullptr;
  }
  /// Why a step with a vendor's call runs its kernel after all; empty if none
  /// does.
  const std::string &vendorProblem() const { return whyNoVendor; }
  /// A variant of a kernel that has been made, or null. The kernel itself is
  /// its default variant and takes no lock.
  const LoadedKernel *findVariant(size_t index,
                                  const KernelVariant &variant) const;
  /// Compiles and loads a variant at the first call; it lives as long as this.
  llvm::Expected<const LoadedKernel *>
  makeVariant(size_t index, const KernelVariant &variant) const;
  /// The device address of a constant; null if it is empty.
  void *constant(size_t index) const { return constants[index]; }

private:
  Executable(Program program, std::shared_ptr<Device> device)
      : code(std::move(program)), target(std::move(device)) {}
  llvm::Error uploadConstants();
  void loadProducts();

  Program code;
  std::shared_ptr<Device> target;
  std::shared_ptr<const LoadedModule> module;
  /// By step, up to the last that has one; shared with `withOwnConstants`.
  std::vector<std::shared_ptr<const LoadedProduct>> products;
  std::string whyNoVendor;
  Buffer constantMemory;
  std::vector<void *> constants;
  // Made when first needed, by any thread.
  mutable std::mutex mutex;
  mutable std::map<std::pair<size_t, KernelVariant>,
                   std::unique_ptr<LoadedModule>>
      variants;
};

/// An input as the caller holds it.
struct TensorView {
  TensorView(const void *data = nullptr, int64_t byteOffset = 0,
             llvm::ArrayRef<int64_t> strides = {})
      : data(data), byteOffset(byteOffset), strides(strides) {}
  const void *data;
  /// Of the first element, from `data`.
  int64_t byteOffset;
  /// Elements between neighbours in each dimension, zero and negative ones
  /// too; empty means dense and row-major.
  llvm::ArrayRef<int64_t> strides;
};

/// Memory for temporaries in the order of a stream, such as a framework's
/// caching allocator gives.
struct WorkspaceAllocator {
  /// Memory aligned to 256 that work enqueued on the stream from now on may
  /// use.
  std::function<llvm::Expected<void *>(uint64_t bytes, Stream stream)> allocate;
  /// Work enqueued so far still uses the memory; later work on the stream may
  /// get it.
  std::function<void(void *memory, uint64_t bytes, Stream stream)> release;
};

/// Memory for temporaries: aligned to 256, at least
/// `Executable::workspaceBytes` long.
struct WorkspaceMemory {
  void *memory = nullptr;
  uint64_t bytes = 0;
};

/// How a context runs.
struct ContextOptions {
  /// The caller's memory, kept by the caller; otherwise the context allocates.
  std::optional<WorkspaceMemory> workspace = std::nullopt;
  /// Asked at every run, in place of a workspace that stays.
  std::optional<WorkspaceAllocator> allocator = std::nullopt;
  /// Keep launches as a graph of the device where it has graphs.
  bool replay = true;
  /// Let launches begin while the launch before them ends, where kernels wait
  /// for it themselves (Kernel::overlaps) and the device can.
  bool overlap = true;
  /// Waits after each step, so that a fault names the step that caused it.
  /// For debugging: slow, and not legal during stream capture.
  bool checkEachStep = false;
};

/// An error about what the caller handed to `run`: counts, pointers, alignment,
/// overlap. Nothing was enqueued.
class ArgumentError : public llvm::ErrorInfo<ArgumentError> {
public:
  static char ID;
  explicit ArgumentError(std::string message) : text(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
};

/// What one stream at a time needs to run an Executable. Not thread-safe; use
/// one per thread or stream. Two contexts never share a workspace.
class ExecutionContext {
public:
  static llvm::Expected<std::unique_ptr<ExecutionContext>>
  create(std::shared_ptr<const Executable> executable,
         const ContextOptions &options = {});
  ~ExecutionContext();

  /// Enqueues the program. Pointers are device pointers in the order of the
  /// program's inputs and outputs, aligned to their elements; that of an empty
  /// tensor may be anything. Outputs overlap neither each other nor inputs, but
  /// an output may be the dense input that Program::aliases names for it.
  ///
  /// Does not synchronize, allocate or lock (unless it fails or a HostCall or
  /// the allocator does), but for the first time that an input has strides or a
  /// pointer is not aligned to kBufferAlignment, which compiles and allocates
  /// unless `prepare` was called with it. While the stream is captured nothing
  /// is compiled or allocated: such a run fails.
  ///
  /// An error names the tensor or step; work enqueued before it may still run.
  llvm::Error run(llvm::ArrayRef<const void *> inputs,
                  llvm::ArrayRef<void *> outputs, Stream stream = nullptr);

  /// The same for inputs with offsets and strides. A strided input is copied
  /// to a dense buffer of the context first: one read and one write of it, and
  /// up to eight integer divisions an element.
  llvm::Error runViews(llvm::ArrayRef<TensorView> inputs,
                       llvm::ArrayRef<void *> outputs, Stream stream = nullptr);

  /// Does now what a run with such tensors would do at the first time, and
  /// enqueues nothing. Later runs may have other pointers of the same strides
  /// and alignment.
  llvm::Error prepare(llvm::ArrayRef<TensorView> inputs,
                      llvm::ArrayRef<void *> outputs);

  /// Enqueues step `index` of Program::steps alone; for measurements. Its
  /// inputs are there if the earlier steps were enqueued one by one before.
  /// A step that does nothing (an empty grid) is none. Not for a context with
  /// an allocator.
  llvm::Error runStep(size_t index, llvm::ArrayRef<const void *> inputs,
                      llvm::ArrayRef<void *> outputs, Stream stream = nullptr);

  const Executable &executable() const;

private:
  struct Impl;
  explicit ExecutionContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Runs once with data of the host: copies in, runs, copies out, waits. One
/// span of bytes per input, in order; gives the bytes of each output.
/// Allocates, so it is for tools and tests rather than for serving.
llvm::Expected<std::vector<std::vector<std::byte>>>
runWithHostData(const std::shared_ptr<const Executable> &executable,
                llvm::ArrayRef<llvm::ArrayRef<std::byte>> inputs,
                const ContextOptions &options = {});

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_EXECUTABLE_H
