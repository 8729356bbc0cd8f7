//===- ExecutionContext.cpp - running a program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Making a context and enqueuing its steps; ContextImpl.h says how it is laid
// out. Steps that do nothing (a zero in the grid, zero bytes) are dropped when
// the context is made.
//===----------------------------------------------------------------------===//
#include "ContextImpl.h"
#include "Liveness.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

static unsigned long long asULL(uint64_t value) { return value; }

static Error checkWorkspace(const void *memory, uint64_t bytes,
                            uint64_t needed) {
  if (bytes < needed || (needed != 0 && !memory))
    return llvm::createStringError(
        "workspace: expected %llu bytes, found %llu%s", asULL(needed),
        asULL(bytes), memory ? "" : " at a null pointer");
  if (reinterpret_cast<uintptr_t>(memory) % 256 != 0)
    return llvm::createStringError(
        "workspace: expected a pointer aligned to 256 bytes, found %p", memory);
  return Error::success();
}

// Memory for as long as the context lives; none with an allocator.
Error ExecutionContext::Impl::setWorkspace() {
  uint64_t needed = executable->workspaceBytes();
  if (options.workspace && options.allocator)
    return llvm::createStringError(
        "workspace: expected memory or an allocator, found both");
  if (options.allocator)
    return Error::success();
  if (options.workspace) {
    auto [memory, bytes] = *options.workspace;
    workspace = static_cast<std::byte *>(memory);
    return checkWorkspace(memory, bytes, needed);
  }
  auto memory = Buffer::allocate(executable->device(), needed);
  if (!memory)
    return memory.takeError();
  ownWorkspace = std::move(*memory);
  workspace = static_cast<std::byte *>(ownWorkspace.data());
  return Error::success();
}

// Zeroed once; kernels leave it zero again.
Error ExecutionContext::Impl::setKept() {
  if (!program.keptBytes)
    return Error::success();
  auto memory = Buffer::allocate(executable->device(), program.keptBytes);
  if (!memory)
    return memory.takeError();
  keptMemory = std::move(*memory);
  Expected<void *> token = device.enter();
  if (!token)
    return token.takeError();
  Error error = device.fill(keptMemory.data(), 0, program.keptBytes, nullptr);
  if (!error)
    error = device.synchronize(nullptr);
  device.leave(*token);
  return error;
}

uint32_t ExecutionContext::Impl::slotIndex(BufferRef ref) const {
  return firstOfSpace[static_cast<size_t>(ref.space)] + ref.index;
}

void ExecutionContext::Impl::placeTemporaries(std::byte *memory) {
  workspace = memory;
  for (uint32_t i = 0; i < program.temporaries.size(); ++i)
    if (const Temporary &temporary = program.temporaries[i];
        temporary.bytes && temporary.offset >= 0) {
      auto *base = temporary.kept ? static_cast<std::byte *>(keptMemory.data())
                                  : workspace;
      if (base)
        *slot({Space::Temporary, i}) = base + temporary.offset;
    }
}

void ExecutionContext::Impl::buildSlots() {
  const size_t counts[4] = {program.inputs.size(), program.outputs.size(),
                            program.constants.size(),
                            program.temporaries.size()};
  for (size_t space = 0; space < 4; ++space) {
    firstOfSpace[space] = slots.size();
    for (uint32_t i = 0; i < counts[space]; ++i)
      slotBytes.push_back(bufferBytes(program, {static_cast<Space>(space), i}));
    slots.resize(slotBytes.size());
  }
  for (uint32_t i = 0; i < program.constants.size(); ++i)
    *slot({Space::Constant, i}) = executable->constant(i);
  placeTemporaries(workspace);
  slotUsers.resize(slots.size());
  tensors.resize(program.inputs.size() + program.outputs.size());
  views.reserve(program.inputs.size());
}

// Buffers of a launch, those in tables too.
template <typename Visit>
static void forEachBuffer(const Launch &launch, Visit visit) {
  for (const KernelArg &arg : launch.args) {
    if (const auto *ref = std::get_if<BufferRef>(&arg))
      visit(*ref);
    else if (const auto *table = std::get_if<TableArg>(&arg))
      for (const TableArg::Field &field : table->fields) {
        if (const auto *ref = std::get_if<BufferRef>(&field))
          visit(*ref);
      }
    else if (const auto *map = std::get_if<TensorMapArg>(&arg))
      visit(map->buffer);
  }
}

// Whether the next step, a launch of `kernel`, may begin before the last one
// has ended. A launch waits for the one before it alone, so that one must have
// waited for those before in its turn, or have begun after they had ended: what
// waits overlaps, and nothing else does. So does the first step: what the
// caller has launched began after all before it had ended, or was told to wait
// for it (PTX asks for that wait of each launch that may begin early), and
// behind a copy or an event the attribute does nothing.
bool ExecutionContext::Impl::mayOverlap(const Kernel &kernel) const {
  if (!options.overlap || !kernel.overlaps || kernel.cooperative)
    return false;
  if (steps.empty())
    return true;
  const auto *before = std::get_if<ReadyLaunch>(&steps.back().action);
  // What a library launches is not known to wait for all before it.
  return before && !before->vendor.product &&
         !program.kernels[before->kernel].cooperative;
}

void ExecutionContext::Impl::prepare(size_t index, const Launch &launch) {
  if (llvm::is_contained(launch.grid, 0u))
    return;
  size_t first = args.size(), firstTable = tableBuffers.size();
  for (const KernelArg &arg : launch.args) {
    if (const auto *table = std::get_if<TableArg>(&arg)) {
      args.push_back(prepareTable(*table));
      argBytes.push_back(-1);
      continue;
    }
    if (const auto *map = std::get_if<TensorMapArg>(&arg)) {
      args.push_back(prepareMap(*map));
      argBytes.push_back(-1);
      continue;
    }
    if (const auto *ref = std::get_if<BufferRef>(&arg)) {
      args.push_back(slot(*ref));
      argBytes.push_back(bufferBytes(program, *ref));
      continue;
    }
    // A 4-byte scalar is the low half, which comes first in memory on every
    // machine that CUDA runs on.
    scalars.push_back(std::get<ScalarArg>(arg).value);
    args.push_back(&scalars.back());
    argBytes.push_back(-1);
  }
  LaunchRequest request;
  request.kernel = &executable->kernel(launch.kernel);
  request.grid = launch.grid;
  request.dynamicSharedBytes = launch.dynamicSharedBytes;
  request.args = args.data() + first;
  request.bufferBytes = llvm::ArrayRef(argBytes).drop_front(first);
  request.tableBuffers = llvm::ArrayRef(tableBuffers).drop_front(firstTable);
  request.overlaps = mayOverlap(program.kernels[launch.kernel]);
  ReadyLaunch ready{request,
                    launch.kernel,
                    {},
                    &launch.rolled,
                    prepareProduct(index, launch)};
  forEachBuffer(launch, [&](BufferRef ref) {
    uint32_t at = slotIndex(ref);
    slotUsers[at].push_back(steps.size());
    if (at < tensors.size() && slotBytes[at])
      ready.callerSlots.push_back(at);
  });
  steps.push_back({index, std::move(ready)});
}

ReadyProduct ExecutionContext::Impl::prepareProduct(size_t index,
                                                    const Launch &launch) {
  const LoadedProduct *product = executable->product(index);
  if (!product)
    return {};
  auto slotOf = [&](uint32_t argument) {
    return slot(std::get<BufferRef>(launch.args[argument]));
  };
  const MatrixProduct &what = launch.vendor->product;
  return {product,
          slotOf(what.lhs.argument),
          slotOf(what.rhs.argument),
          slotOf(what.result.argument),
          slot(launch.vendor->workspace),
          what.addend ? slotOf(what.addend->argument) : nullptr,
          what.bias ? slotOf(*what.bias) : nullptr};
}

void *ExecutionContext::Impl::prepareTable(const TableArg &table) {
  size_t first = tableWords.size();
  tableWords.resize(first + table.bytes() / sizeof(void *));
  auto *start = reinterpret_cast<std::byte *>(tableWords.data() + first);
  table.forEachField([&](const TableArg::Field &field, uint32_t offset) {
    if (const auto *scalar = std::get_if<ScalarArg>(&field)) {
      std::memcpy(start + offset, &scalar->value, scalar->bytes);
      return;
    }
    BufferRef ref = std::get<BufferRef>(field);
    auto **word = reinterpret_cast<void **>(start + offset);
    tablePointers.push_back({word, slot(ref)});
    tableBuffers.push_back({word, bufferBytes(program, ref)});
  });
  return start;
}

void *ExecutionContext::Impl::prepareMap(const TensorMapArg &map) {
  maps.emplace_back();
  BoundMap &bound = maps.back();
  bound.map = &map;
  bound.slot = slot(map.buffer);
  tableBuffers.push_back({bound.slot, bufferBytes(program, map.buffer)});
  return bound.bytes;
}

/// Puts the pointers of the slots into tables and tensor maps.
Error ExecutionContext::Impl::fillArguments() {
  for (auto [word, slot] : tablePointers)
    *word = *slot;
  for (BoundMap &bound : maps) {
    if (*bound.slot == bound.made)
      continue;
    if (Error error =
            device.encodeTensorMap(*bound.map, *bound.slot, bound.bytes))
      return error;
    bound.made = *bound.slot;
  }
  return Error::success();
}

void ExecutionContext::Impl::prepare(size_t index, const HostCall &call) {
  size_t first = callSlots.size();
  for (BufferRef ref : call.args)
    callSlots.push_back(slot(ref));
  callBuffers.resize(std::max(callBuffers.size(), call.args.size()));
  steps.push_back(
      {index, ReadyCall{&call, llvm::ArrayRef(callSlots).drop_front(first)}});
}

void ExecutionContext::Impl::prepare(size_t index, const Fill &fill) {
  if (int64_t bytes = bufferBytes(program, fill.buffer))
    steps.push_back({index, ReadyFill{slot(fill.buffer), uint64_t(bytes)}});
}

void ExecutionContext::Impl::prepare(size_t index, const Copy &copy) {
  if (int64_t bytes = bufferBytes(program, copy.to))
    steps.push_back(
        {index, ReadyCopy{slot(copy.from), slot(copy.to), uint64_t(bytes)}});
}

void ExecutionContext::Impl::buildSteps() {
  size_t argCount = 0, callArgCount = 0, tableBytes = 0, fieldCount = 0,
         mapCount = 0;
  for (const Step &step : program.steps) {
    if (const auto *launch = std::get_if<Launch>(&step)) {
      argCount += launch->args.size();
      for (const KernelArg &arg : launch->args)
        if (const auto *table = std::get_if<TableArg>(&arg)) {
          tableBytes += table->bytes();
          fieldCount += table->fields.size();
        } else if (std::holds_alternative<TensorMapArg>(arg)) {
          ++mapCount;
        }
    } else if (const auto *call = std::get_if<HostCall>(&step)) {
      callArgCount += call->args.size();
    }
  }
  args.reserve(argCount);
  argBytes.reserve(argCount);
  scalars.reserve(argCount);
  tableWords.reserve(tableBytes / sizeof(void *));
  tableBuffers.reserve(fieldCount + mapCount);
  maps.reserve(mapCount);
  tablePointers.reserve(fieldCount);
  callSlots.reserve(callArgCount);
  steps.reserve(program.steps.size());
  for (auto [index, step] : llvm::enumerate(program.steps))
    std::visit([&, i = index](const auto &s) { prepare(i, s); }, step);
}

//===----------------------------------------------------------------------===//
// Run
//===----------------------------------------------------------------------===//

Error ExecutionContext::Impl::runStep(const ReadyStep &step, Stream stream) {
  if (const auto *launch = std::get_if<ReadyLaunch>(&step.action)) {
    if (launch->vendor.product)
      return device.multiply(launch->vendor.request(), stream);
    return device.launch(launch->request, stream);
  }
  if (const auto *fill = std::get_if<ReadyFill>(&step.action))
    return device.fill(*fill->to, 0, fill->bytes, stream);
  if (const auto *copy = std::get_if<ReadyCopy>(&step.action))
    return device.copy(*copy->to, *copy->from, copy->bytes, stream);
  const auto &call = std::get<ReadyCall>(step.action);
  for (auto [i, slot] : llvm::enumerate(call.slots))
    callBuffers[i] = *slot;
  return device.call(*call.call,
                     llvm::ArrayRef(callBuffers).take_front(call.slots.size()),
                     stream);
}

// Adds where it happened to an error.
Error ExecutionContext::Impl::describe(size_t index, Error error) const {
  std::string what = "fill";
  const Step &step = program.steps[index];
  if (const auto *launch = std::get_if<Launch>(&step))
    what = executable->product(index)
               ? launch->vendor->algorithm.name
               : "kernel '" + program.kernels[launch->kernel].entry + "'";
  else if (const auto *call = std::get_if<HostCall>(&step))
    what = "host call '" + call->what + "'";
  else if (std::holds_alternative<Copy>(step))
    what = "copy";
  return llvm::createStringError("step %zu, %s: %s", index, what.c_str(),
                                 llvm::toString(std::move(error)).c_str());
}

Error ExecutionContext::Impl::runSteps(Stream stream) {
  bool graphs = !segments.empty();
  if (graphs) {
    // A graph cannot be launched into a stream that is being captured. What
    // cannot be told is taken for a capture: plain launches are always right.
    Expected<bool> capturing = device.isCapturing(stream);
    graphs = capturing && !*capturing;
    if (!capturing)
      llvm::consumeError(capturing.takeError());
  }
  Segment *segment = segments.data(), *end = segment + segments.size();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (segment != end && segment->first == i) {
      Expected<bool> done =
          graphs ? replay(*segment, stream) : Expected<bool>(false);
      if (!done)
        return done.takeError();
      size_t last = i + segment->count - 1;
      ++segment;
      if (*done) {
        i = last;
        continue;
      }
    }
    Error error = runStep(steps[i], stream);
    if (!error && options.checkEachStep)
      error = device.synchronize(stream);
    if (error)
      return describe(steps[i].index, std::move(error));
  }
  pointersChanged = false;
  return Error::success();
}

// The steps between the copies of staged tensors.
Error ExecutionContext::Impl::enqueue(Stream stream) {
  if (!anyStaged)
    return runSteps(stream);
  size_t inputs = program.inputs.size();
  for (size_t i = 0; i < inputs; ++i) {
    const BoundTensor &tensor = tensors[i];
    if (!tensor.staged)
      continue;
    if (Error error =
            tensor.dense
                ? device.copy(slots[i], tensor.from, slotBytes[i], stream)
                : device.copyStrided(slots[i], tensor.from, tensor.layout,
                                     byteSize(program.inputs[i].dtype), stream))
      return llvm::createStringError("copying %s: %s", nameOf(i).c_str(),
                                     llvm::toString(std::move(error)).c_str());
  }
  if (Error error = runSteps(stream))
    return error;
  for (size_t i = inputs; i < tensors.size(); ++i)
    if (tensors[i].staged)
      if (Error error = device.copy(const_cast<void *>(tensors[i].from),
                                    slots[i], slotBytes[i], stream))
        return llvm::createStringError(
            "copying %s: %s", nameOf(i).c_str(),
            llvm::toString(std::move(error)).c_str());
  return Error::success();
}

// With memory from the allocator for the length of the run.
Error ExecutionContext::Impl::run(Stream stream) {
  Expected<void *> token = device.enter();
  if (!token)
    return token.takeError();
  llvm::scope_exit leave([&] { device.leave(*token); });
  uint64_t bytes = executable->workspaceBytes();
  if (!options.allocator || bytes == 0)
    return enqueue(stream);
  Expected<void *> memory = options.allocator->allocate(bytes, stream);
  if (!memory)
    return llvm::createStringError("workspace: allocating %llu bytes: %s",
                                   asULL(bytes),
                                   llvm::toString(memory.takeError()).c_str());
  llvm::scope_exit release(
      [&] { options.allocator->release(*memory, bytes, stream); });
  if (Error error = checkWorkspace(*memory, bytes, bytes))
    return error;
  if (*memory != workspace) {
    placeTemporaries(static_cast<std::byte *>(*memory));
    if (Error error = fillArguments())
      return error;
    for (uint32_t i = 0; i < program.temporaries.size(); ++i)
      markUsers(slotIndex({Space::Temporary, i}));
    pointersChanged = true;
  }
  return enqueue(stream);
}

char ArgumentError::ID;

void ArgumentError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code ArgumentError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

ExecutionContext::ExecutionContext(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
ExecutionContext::~ExecutionContext() = default;

const Executable &ExecutionContext::executable() const {
  return *impl->executable;
}

Expected<std::unique_ptr<ExecutionContext>>
ExecutionContext::create(std::shared_ptr<const Executable> executable,
                         const ContextOptions &options) {
  auto impl = std::make_unique<Impl>(std::move(executable), options);
  if (Error error = impl->setWorkspace())
    return std::move(error);
  if (Error error = impl->setKept())
    return std::move(error);
  impl->buildSlots();
  impl->buildSteps();
  Expected<void *> token = impl->device.enter();
  if (!token)
    return token.takeError();
  // Those of constants and temporaries; the caller's are still null.
  Error error = impl->fillArguments();
  if (!error)
    error = impl->buildSegments();
  // Nodes were made without the caller's pointers.
  for (size_t slot = 0; slot < impl->tensors.size(); ++slot)
    impl->markUsers(slot);
  if (options.allocator)
    for (uint32_t i = 0; i < impl->program.temporaries.size(); ++i)
      impl->markUsers(impl->slotIndex({Space::Temporary, i}));
  impl->device.leave(*token);
  if (error)
    return std::move(error);
  return std::unique_ptr<ExecutionContext>(
      new ExecutionContext(std::move(impl)));
}

Error ExecutionContext::run(llvm::ArrayRef<const void *> inputs,
                            llvm::ArrayRef<void *> outputs, Stream stream) {
  impl->views.assign(inputs.begin(), inputs.end());
  return runViews(impl->views, outputs, stream);
}

Error ExecutionContext::runViews(llvm::ArrayRef<TensorView> inputs,
                                 llvm::ArrayRef<void *> outputs,
                                 Stream stream) {
  if (Error error = impl->bind(inputs, outputs, stream))
    return error;
  return impl->run(stream);
}

Error ExecutionContext::prepare(llvm::ArrayRef<TensorView> inputs,
                                llvm::ArrayRef<void *> outputs) {
  return impl->bind(inputs, outputs, std::nullopt);
}

Error ExecutionContext::runStep(size_t index,
                                llvm::ArrayRef<const void *> inputs,
                                llvm::ArrayRef<void *> outputs, Stream stream) {
  impl->views.assign(inputs.begin(), inputs.end());
  if (Error error = impl->bind(impl->views, outputs, stream))
    return error;
  auto step = llvm::lower_bound(impl->steps, index,
                                [](const ReadyStep &ready, size_t wanted) {
                                  return ready.index < wanted;
                                });
  if (step == impl->steps.end() || step->index != index)
    return Error::success();
  Expected<void *> token = impl->device.enter();
  if (!token)
    return token.takeError();
  // Alone: what is on the stream before it is not the step before it.
  ReadyStep alone = *step;
  if (auto *launch = std::get_if<ReadyLaunch>(&alone.action))
    launch->request.overlaps = false;
  Error error = impl->runStep(alone, stream);
  impl->device.leave(*token);
  return error ? impl->describe(index, std::move(error)) : Error::success();
}
