//===- ExecutionContext.cpp - running a program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All buffers of a program have one slot each in a table: inputs, outputs,
// constants, temporaries. A launch argument is the address of a slot or of a
// scalar, so preparing a run means storing the caller's pointers in the first
// slots, whatever the number of launches. Steps that do nothing (a zero in the
// grid, zero bytes) are dropped when the context is made.
//===----------------------------------------------------------------------===//
#include "Liveness.h"
#include "fusec/Runtime/Executable.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

namespace {
// A step with everything resolved but the contents of the slots.
struct ReadyLaunch {
  LaunchRequest request;
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
} // namespace

struct ExecutionContext::Impl {
  Impl(std::shared_ptr<const Executable> executable, bool checkEachStep)
      : executable(std::move(executable)), program(this->executable->program()),
        device(*this->executable->device()), checkEachStep(checkEachStep) {}

  Error setWorkspace(const ContextOptions &options);
  void buildSlots();
  void buildSteps();
  void **slot(BufferRef ref);
  Error bind(llvm::ArrayRef<const void *> inputs,
             llvm::ArrayRef<void *> outputs);
  bool isBound(llvm::ArrayRef<const void *> inputs,
               llvm::ArrayRef<void *> outputs) const;
  Error checkOutputsApart() const;
  Error runSteps(Stream stream);
  Error runStep(const ReadyStep &step, Stream stream);
  Error describe(size_t step, Error error) const;

  void prepare(size_t index, const Launch &launch);
  void *prepareTable(const TableArg &table);
  void fillTables();
  void prepare(size_t index, const HostCall &call);
  void prepare(size_t index, const Fill &fill);
  void prepare(size_t index, const Copy &copy);

  std::shared_ptr<const Executable> executable;
  const Program &program;
  Device &device;
  bool checkEachStep;

  Buffer ownWorkspace;
  std::byte *workspace = nullptr;

  std::vector<void *> slots;
  size_t firstOfSpace[4] = {};
  // Bytes of each slot's buffer.
  std::vector<int64_t> slotBytes;
  // The slots hold pointers of the caller that have passed `bind`.
  bool bound = false;

  std::vector<ReadyStep> steps;
  // Storage that steps point into; reserved in full before it is filled.
  std::vector<void *> args;
  std::vector<int64_t> argBytes;
  std::vector<int64_t> scalars;
  // Tables as kernels read them; those of their words that are pointers repeat
  // a slot.
  std::vector<void *> tableWords;
  std::vector<TableBuffer> tableBuffers;
  std::vector<std::pair<void **, void *const *>> tablePointers; // word, slot
  std::vector<void **> callSlots;
  std::vector<void *> callBuffers;
};

static unsigned long long asULL(uint64_t value) { return value; }

Error ExecutionContext::Impl::setWorkspace(const ContextOptions &options) {
  uint64_t needed = executable->workspaceBytes();
  if (!options.workspace) {
    auto memory = Buffer::allocate(executable->device(), needed);
    if (!memory)
      return memory.takeError();
    ownWorkspace = std::move(*memory);
    workspace = static_cast<std::byte *>(ownWorkspace.data());
    return Error::success();
  }
  auto [memory, bytes] = *options.workspace;
  if (bytes < needed || (needed != 0 && !memory))
    return llvm::createStringError(
        "workspace: expected %llu bytes, found %llu%s", asULL(needed),
        asULL(bytes), memory ? "" : " at a null pointer");
  if (reinterpret_cast<uintptr_t>(memory) % 256 != 0)
    return llvm::createStringError(
        "workspace: expected a pointer aligned to 256 bytes, found %p", memory);
  workspace = static_cast<std::byte *>(memory);
  return Error::success();
}

void **ExecutionContext::Impl::slot(BufferRef ref) {
  return &slots[firstOfSpace[static_cast<size_t>(ref.space)] + ref.index];
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
  for (uint32_t i = 0; i < program.temporaries.size(); ++i)
    if (const Temporary &temporary = program.temporaries[i];
        temporary.bytes && temporary.offset >= 0 && workspace)
      *slot({Space::Temporary, i}) = workspace + temporary.offset;
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
  steps.push_back({index, ReadyLaunch{request}});
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

void ExecutionContext::Impl::fillTables() {
  for (auto [word, slot] : tablePointers)
    *word = *slot;
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
  size_t argCount = 0, callArgCount = 0, tableBytes = 0, fieldCount = 0;
  for (const Step &step : program.steps) {
    if (const auto *launch = std::get_if<Launch>(&step)) {
      argCount += launch->args.size();
      for (const KernelArg &arg : launch->args)
        if (const auto *table = std::get_if<TableArg>(&arg)) {
          tableBytes += table->bytes();
          fieldCount += table->fields.size();
        }
    } else if (const auto *call = std::get_if<HostCall>(&step)) {
      callArgCount += call->args.size();
    }
  }
  args.reserve(argCount);
  argBytes.reserve(argCount);
  scalars.reserve(argCount);
  tableWords.reserve(tableBytes / sizeof(void *));
  tableBuffers.reserve(fieldCount);
  tablePointers.reserve(fieldCount);
  callSlots.reserve(callArgCount);
  steps.reserve(program.steps.size());
  for (auto [index, step] : llvm::enumerate(program.steps))
    std::visit([&, i = index](const auto &s) { prepare(i, s); }, step);
}

//===----------------------------------------------------------------------===//
// Run
//===----------------------------------------------------------------------===//

static Error checkPointer(const char *kind, const TensorSpec &spec,
                          const void *pointer, int64_t bytes) {
  if (bytes == 0)
    return Error::success();
  if (!pointer)
    return llvm::createStringError(
        "%s '%s': expected a pointer to %llu bytes, found null", kind,
        spec.name.c_str(), asULL(bytes));
  if (reinterpret_cast<uintptr_t>(pointer) % kBufferAlignment != 0)
    return llvm::createStringError(
        "%s '%s': expected a pointer aligned to %llu bytes, found %p", kind,
        spec.name.c_str(), asULL(kBufferAlignment), pointer);
  return Error::success();
}

static Error checkCount(const char *kind, size_t expected, size_t found) {
  if (expected == found)
    return Error::success();
  return llvm::createStringError("expected %zu %ss, found %zu", expected, kind,
                                 found);
}

bool ExecutionContext::Impl::isBound(llvm::ArrayRef<const void *> inputs,
                                     llvm::ArrayRef<void *> outputs) const {
  return bound && inputs.size() == program.inputs.size() &&
         outputs.size() == program.outputs.size() &&
         std::equal(inputs.begin(), inputs.end(), slots.begin()) &&
         std::equal(outputs.begin(), outputs.end(),
                    slots.begin() + inputs.size());
}

// Quadratic, but only done when the pointers are not those of the last run.
Error ExecutionContext::Impl::checkOutputsApart() const {
  size_t inputs = program.inputs.size();
  size_t all = inputs + program.outputs.size();
  auto begin = [&](size_t i) { return reinterpret_cast<uintptr_t>(slots[i]); };
  for (size_t out = inputs; out < all; ++out)
    for (size_t other = 0; other < out; ++other) {
      if (!slotBytes[out] || !slotBytes[other] ||
          begin(other) + slotBytes[other] <= begin(out) ||
          begin(out) + slotBytes[out] <= begin(other))
        continue;
      bool isInput = other < inputs;
      return llvm::createStringError(
          "output '%s' overlaps %s '%s'",
          program.outputs[out - inputs].name.c_str(),
          isInput ? "input" : "output",
          (isInput ? program.inputs[other] : program.outputs[other - inputs])
              .name.c_str());
    }
  return Error::success();
}

Error ExecutionContext::Impl::bind(llvm::ArrayRef<const void *> inputs,
                                   llvm::ArrayRef<void *> outputs) {
  if (isBound(inputs, outputs))
    return Error::success();
  bound = false;
  if (Error error = checkCount("input", program.inputs.size(), inputs.size()))
    return error;
  if (Error error =
          checkCount("output", program.outputs.size(), outputs.size()))
    return error;
  for (auto [i, pointer] : llvm::enumerate(inputs)) {
    if (Error error =
            checkPointer("input", program.inputs[i], pointer, slotBytes[i]))
      return error;
    // Launch arguments have no const; the program writes to no input.
    slots[i] = const_cast<void *>(pointer);
  }
  for (auto [i, pointer] : llvm::enumerate(outputs)) {
    if (Error error = checkPointer("output", program.outputs[i], pointer,
                                   slotBytes[inputs.size() + i]))
      return error;
    slots[inputs.size() + i] = pointer;
  }
  if (Error error = checkOutputsApart())
    return error;
  fillTables();
  bound = true;
  return Error::success();
}

Error ExecutionContext::Impl::runStep(const ReadyStep &step, Stream stream) {
  if (const auto *launch = std::get_if<ReadyLaunch>(&step.action))
    return device.launch(launch->request, stream);
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
    what = "kernel '" + program.kernels[launch->kernel].entry + "'";
  else if (const auto *call = std::get_if<HostCall>(&step))
    what = "host call '" + call->what + "'";
  else if (std::holds_alternative<Copy>(step))
    what = "copy";
  return llvm::createStringError("step %zu, %s: %s", index, what.c_str(),
                                 llvm::toString(std::move(error)).c_str());
}

Error ExecutionContext::Impl::runSteps(Stream stream) {
  for (const ReadyStep &step : steps) {
    Error error = runStep(step, stream);
    if (!error && checkEachStep)
      error = device.synchronize(stream);
    if (error)
      return describe(step.index, std::move(error));
  }
  return Error::success();
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
  auto impl =
      std::make_unique<Impl>(std::move(executable), options.checkEachStep);
  if (Error error = impl->setWorkspace(options))
    return std::move(error);
  impl->buildSlots();
  impl->buildSteps();
  return std::unique_ptr<ExecutionContext>(
      new ExecutionContext(std::move(impl)));
}

Error ExecutionContext::run(llvm::ArrayRef<const void *> inputs,
                            llvm::ArrayRef<void *> outputs, Stream stream) {
  if (Error error = impl->bind(inputs, outputs))
    return llvm::make_error<ArgumentError>(llvm::toString(std::move(error)));
  Expected<void *> token = impl->device.enter();
  if (!token)
    return token.takeError();
  Error error = impl->runSteps(stream);
  impl->device.leave(*token);
  return error;
}
