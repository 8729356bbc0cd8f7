//===- ContextImpl.h - what a context holds ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime. All buffers of a program have one slot each in a
// table: inputs, outputs, constants, temporaries. A launch argument is the
// address of a slot, of a scalar or of a table, so preparing a run means
// storing the caller's pointers in the first slots, whatever the number of
// launches.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CONTEXTIMPL_H
#define FUSEC_LIB_RUNTIME_CONTEXTIMPL_H

#include "fusec/Runtime/Executable.h"

namespace fusec::runtime {

/// Steps with everything resolved but the contents of the slots.
struct ReadyProduct {
  /// Null: the launch's kernel runs.
  const LoadedProduct *product = nullptr;
  void **lhs = nullptr, **rhs = nullptr, **result = nullptr,
       **workspace = nullptr;
  /// Null where the product has none.
  void **addend = nullptr, **bias = nullptr;

  ProductRequest request() const {
    return {product,
            *lhs,
            *rhs,
            *result,
            *workspace,
            addend ? *addend : nullptr,
            bias ? *bias : nullptr};
  }
};
struct ReadyLaunch {
  LaunchRequest request;
  /// In Program::kernels.
  uint32_t kernel;
  /// The inputs and outputs among its buffers, by slot.
  std::vector<uint32_t> callerSlots;
  const RolledRows *rolled;
  /// The vendor's library in place of the kernel. Always a plain call: it is
  /// no node of a graph.
  ReadyProduct vendor = {};
};
struct ReadyCall {
  const HostCall *call;
  llvm::ArrayRef<void **> slots;
};
struct ReadyFill {
  void **to;
  uint64_t bytes;
};
struct ReadyCopy {
  void **from, **to;
  uint64_t bytes;
};
struct ReadyStep {
  size_t index; // in Program::steps, for messages
  std::variant<ReadyLaunch, ReadyCall, ReadyFill, ReadyCopy> action;
};

/// An input or output as the caller gave it at the last bind.
struct BoundTensor {
  const void *pointer = nullptr;
  int64_t offset = 0;
  /// As given; empty for a dense tensor.
  std::vector<int64_t> strides;
  /// Of the first element.
  const void *from = nullptr;
  bool dense = true;
  /// Copied to (an input) or from (an output) `staging` around the steps.
  bool staged = false;
  StridedLayout layout;
  Buffer staging;
};

/// A tensor map as a kernel gets it, and the pointer it was made for.
struct alignas(64) BoundMap {
  std::byte bytes[kTensorMapBytes] = {};
  const TensorMapArg *map = nullptr;
  void *const *slot = nullptr;
  void *made = nullptr;
};

/// Consecutive steps that a device keeps as a graph.
struct Segment {
  size_t first = 0, count = 0; // in ExecutionContext::Impl::steps
  std::unique_ptr<LaunchGraph> graph;
};

struct ExecutionContext::Impl {
  Impl(std::shared_ptr<const Executable> executable, ContextOptions options)
      : executable(std::move(executable)), program(this->executable->program()),
        device(*this->executable->device()), options(std::move(options)) {}

  // ExecutionContext.cpp
  llvm::Error setWorkspace();
  llvm::Error setKept();
  void placeTemporaries(std::byte *workspace);
  void buildSlots();
  void buildSteps();
  uint32_t slotIndex(BufferRef ref) const;
  void **slot(BufferRef ref) { return &slots[slotIndex(ref)]; }
  bool mayOverlap(const Kernel &kernel) const;
  void prepare(size_t index, const Launch &launch);
  ReadyProduct prepareProduct(size_t index, const Launch &launch);
  void *prepareTable(const TableArg &table);
  void *prepareMap(const TensorMapArg &map);
  llvm::Error fillArguments();
  void prepare(size_t index, const HostCall &call);
  void prepare(size_t index, const Fill &fill);
  void prepare(size_t index, const Copy &copy);
  llvm::Error run(Stream stream);
  llvm::Error enqueue(Stream stream);
  llvm::Error runSteps(Stream stream);
  llvm::Error runStep(const ReadyStep &step, Stream stream);
  llvm::Error describe(size_t step, llvm::Error error) const;

  // ContextBind.cpp
  /// Stores the caller's tensors. `stream` is empty where nothing will be
  /// enqueued.
  llvm::Error bind(llvm::ArrayRef<TensorView> inputs,
                   llvm::ArrayRef<void *> outputs,
                   std::optional<Stream> stream);
  llvm::Error bindTensors(llvm::ArrayRef<TensorView> inputs,
                          llvm::ArrayRef<void *> outputs,
                          std::optional<Stream> stream);
  bool isBound(llvm::ArrayRef<TensorView> inputs,
               llvm::ArrayRef<void *> outputs) const;
  llvm::Error bindInput(size_t i, const TensorView &view,
                        std::optional<Stream> stream);
  llvm::Error bindOutput(size_t i, void *pointer, std::optional<Stream> stream);
  llvm::Error checkPointer(size_t slot, const void *pointer) const;
  llvm::Error stage(size_t slot, std::optional<Stream> stream);
  llvm::Error mayPrepare(size_t slot, std::optional<Stream> stream) const;
  bool needsFullAlignment(size_t slot) const;
  llvm::Error checkOutputsApart();
  bool isInPlace(size_t input, size_t output) const;
  std::optional<uint32_t> commonStart(const RolledRows &rows) const;
  llvm::Error chooseKernels(std::optional<Stream> stream);
  const TensorSpec &specOf(size_t slot) const;
  std::string nameOf(size_t slot) const;

  // ContextReplay.cpp
  llvm::Error buildSegments();
  llvm::Expected<bool> replay(Segment &segment, Stream stream);
  void markUsers(size_t slot);

  std::shared_ptr<const Executable> executable;
  const Program &program;
  Device &device;
  ContextOptions options;

  Buffer ownWorkspace;
  /// The kept temporaries.
  Buffer keptMemory;
  std::byte *workspace = nullptr;

  std::vector<void *> slots;
  size_t firstOfSpace[4] = {};
  /// Bytes of each slot's buffer.
  std::vector<int64_t> slotBytes;
  /// The steps that launch with a slot's buffer.
  std::vector<std::vector<uint32_t>> slotUsers;
  /// Inputs, then outputs.
  std::vector<BoundTensor> tensors;
  /// The inputs of a call that gives pointers only.
  std::vector<TensorView> views;
  /// Program::aliases that the pointers of the last bind make use of.
  std::vector<Alias> inPlace;
  /// The slots hold pointers of the caller that have passed `bind`.
  bool bound = false;
  bool anyStaged = false;

  std::vector<ReadyStep> steps;
  std::vector<Segment> segments;
  /// Whether a step's node has other arguments than the step.
  std::vector<char> stale;
  /// A pointer of the caller or the workspace is not that of the last run.
  bool pointersChanged = false;

  /// Storage that steps point into; reserved in full before it is filled.
  std::vector<void *> args;
  std::vector<int64_t> argBytes;
  std::vector<int64_t> scalars;
  /// Tables as kernels read them; those of their words that are pointers
  /// repeat a slot.
  std::vector<void *> tableWords;
  std::vector<TableBuffer> tableBuffers;
  std::vector<std::pair<void **, void *const *>> tablePointers; // word, slot
  std::vector<BoundMap> maps;
  std::vector<void **> callSlots;
  std::vector<void *> callBuffers;
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CONTEXTIMPL_H
