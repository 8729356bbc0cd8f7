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

namespace fusec::runtime {

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
  /// Bytes of workspace that each context needs.
  uint64_t workspaceBytes() const { return code.workspaceBytes; }
  const LoadedKernel &kernel(size_t index) const {
    return module->kernel(index);
  }
  /// The device address of a constant; null if it is empty.
  void *constant(size_t index) const { return constants[index]; }

private:
  Executable(Program program, std::shared_ptr<Device> device)
      : code(std::move(program)), target(std::move(device)) {}
  llvm::Error uploadConstants();

  Program code;
  std::shared_ptr<Device> target;
  std::unique_ptr<LoadedModule> module;
  Buffer constantMemory;
  std::vector<void *> constants;
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
  /// program's inputs and outputs, aligned to kBufferAlignment; that of an
  /// empty tensor may be anything. Outputs overlap neither inputs nor each
  /// other. Does not synchronize, allocate or lock (unless it fails or a
  /// HostCall does). An error names the tensor or step; work enqueued before
  /// it may still run.
  llvm::Error run(llvm::ArrayRef<const void *> inputs,
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
