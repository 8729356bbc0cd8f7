//===- ContextBind.cpp - the caller's tensors -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense, aligned pointers go straight into the slots. Others cost something:
//
//  * a strided input is copied to a dense buffer of the context before each
//    run;
//  * a dense tensor that is not aligned to 16 bytes makes the kernels that
//    touch it run in a variant with narrower accesses or, where a kernel has
//    none, is copied likewise.
//
// Everything is checked only when a pointer is not that of the last run.
//===----------------------------------------------------------------------===//
#include "ContextImpl.h"

#include "llvm/ADT/STLExtras.h"

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

static unsigned long long asULL(uint64_t value) { return value; }

// The largest power of two up to kBufferAlignment that divides the address.
static uint32_t alignmentOf(const void *pointer) {
  uint64_t bits = reinterpret_cast<uintptr_t>(pointer) | kBufferAlignment;
  return static_cast<uint32_t>(bits & -bits);
}

const TensorSpec &ExecutionContext::Impl::specOf(size_t slot) const {
  size_t inputs = program.inputs.size();
  return slot < inputs ? program.inputs[slot] : program.outputs[slot - inputs];
}

std::string ExecutionContext::Impl::nameOf(size_t slot) const {
  return (slot < program.inputs.size() ? "input '" : "output '") +
         specOf(slot).name + "'";
}

Error ExecutionContext::Impl::checkPointer(size_t slot,
                                           const void *pointer) const {
  uint64_t element = byteSize(specOf(slot).dtype);
  if (!pointer)
    return llvm::createStringError(
        "%s: expected a pointer to %llu bytes, found null",
        nameOf(slot).c_str(), asULL(slotBytes[slot]));
  if (reinterpret_cast<uintptr_t>(pointer) % element != 0)
    return llvm::createStringError(
        "%s: expected a pointer aligned to its elements of %llu bytes, found "
        "%p",
        nameOf(slot).c_str(), asULL(element), pointer);
  return Error::success();
}

// What must not happen while a stream is captured: allocating and compiling.
Error ExecutionContext::Impl::mayPrepare(size_t slot,
                                         std::optional<Stream> stream) const {
  if (!stream)
    return Error::success();
  Expected<bool> capturing = device.isCapturing(*stream);
  if (!capturing)
    return capturing.takeError();
  if (!*capturing)
    return Error::success();
  return llvm::createStringError(
      "%s: its strides or alignment need preparation, which a stream that is "
      "being captured does not allow: call `prepare` before",
      nameOf(slot).c_str());
}

// Whether a launch with this buffer has no variant for other alignments.
bool ExecutionContext::Impl::needsFullAlignment(size_t slot) const {
  return llvm::any_of(slotUsers[slot], [&](uint32_t step) {
    const auto &launch = std::get<ReadyLaunch>(steps[step].action);
    return !device.info().splitsAccesses || launch.vendor.product ||
           program.kernels[launch.kernel].usesSkeleton ||
           program.kernels[launch.kernel].usesSm90;
  });
}

//===----------------------------------------------------------------------===//
// One tensor
//===----------------------------------------------------------------------===//

// Puts a dense buffer of the context in place of the caller's.
Error ExecutionContext::Impl::stage(size_t slot, std::optional<Stream> stream) {
  BoundTensor &tensor = tensors[slot];
  if (!tensor.staging.data()) {
    if (Error error = mayPrepare(slot, stream))
      return error;
    Expected<Buffer> memory =
        Buffer::allocate(executable->device(), slotBytes[slot]);
    if (!memory)
      return memory.takeError();
    tensor.staging = std::move(*memory);
  }
  tensor.staged = anyStaged = true;
  slots[slot] = tensor.staging.data();
  return Error::success();
}

// The byte range that a layout reaches, relative to its first element.
static std::pair<int64_t, int64_t> reachOf(const StridedLayout &layout,
                                           int64_t elementBytes) {
  int64_t low = 0, high = 0;
  for (unsigned dim = 0; dim < layout.rank; ++dim) {
    int64_t reach = (layout.sizes[dim] - 1) * layout.strides[dim];
    (reach < 0 ? low : high) += reach;
  }
  return {low * elementBytes, (high + 1) * elementBytes};
}

// Whether all offsets of the view fit 62 bits of bytes.
static bool fits(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                 int64_t elementBytes) {
  int64_t total = elementBytes;
  for (auto [size, stride] : llvm::zip_equal(shape, strides)) {
    int64_t reach;
    if (stride == INT64_MIN ||
        __builtin_mul_overflow(size - 1, std::abs(stride), &reach) ||
        __builtin_mul_overflow(reach, elementBytes, &reach) ||
        __builtin_add_overflow(total, reach, &total))
      return false;
  }
  return total < (int64_t(1) << 62);
}

Error ExecutionContext::Impl::bindInput(size_t i, const TensorView &view,
                                        std::optional<Stream> stream) {
  const TensorSpec &spec = program.inputs[i];
  BoundTensor &tensor = tensors[i];
  tensor.pointer = view.data;
  tensor.offset = view.byteOffset;
  tensor.strides.assign(view.strides.begin(), view.strides.end());
  tensor.staged = false;
  // Launch arguments have no const; the program writes to no input but in
  // place.
  auto *base = static_cast<std::byte *>(const_cast<void *>(view.data));
  slots[i] = base ? base + view.byteOffset : nullptr;
  if (slotBytes[i] == 0)
    return Error::success();
  if (Error error = checkPointer(i, slots[i]))
    return error;
  tensor.from = slots[i];
  bool dense = true;
  if (!view.strides.empty()) {
    if (view.strides.size() != spec.shape.size())
      return llvm::createStringError("%s: expected %zu strides, found %zu",
                                     nameOf(i).c_str(), spec.shape.size(),
                                     view.strides.size());
    if (!fits(spec.shape, view.strides, byteSize(spec.dtype)))
      return llvm::createStringError("%s: its strides do not fit 62 bits of "
                                     "bytes",
                                     nameOf(i).c_str());
    auto layout = StridedLayout::get(spec.shape, view.strides);
    if (!layout)
      return llvm::createStringError(
          "%s: %s", nameOf(i).c_str(),
          llvm::toString(layout.takeError()).c_str());
    dense = layout->isDense();
    tensor.layout = *layout;
  }
  tensor.dense = dense;
  if (!dense) {
    if (!device.canCopyStrided(byteSize(spec.dtype))) {
      if (Error error = mayPrepare(i, stream))
        return error;
      if (Error error = device.prepareCopyStrided(byteSize(spec.dtype)))
        return error;
    }
    return stage(i, stream);
  }
  if (alignmentOf(slots[i]) < device.info().bufferAlignment &&
      needsFullAlignment(i))
    return stage(i, stream);
  return Error::success();
}

Error ExecutionContext::Impl::bindOutput(size_t i, void *pointer,
                                         std::optional<Stream> stream) {
  size_t slot = program.inputs.size() + i;
  BoundTensor &tensor = tensors[slot];
  tensor.pointer = tensor.from = pointer;
  tensor.staged = false;
  slots[slot] = pointer;
  if (slotBytes[slot] == 0)
    return Error::success();
  if (Error error = checkPointer(slot, pointer))
    return error;
  if (alignmentOf(pointer) < device.info().bufferAlignment &&
      needsFullAlignment(slot))
    return stage(slot, stream);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// All tensors
//===----------------------------------------------------------------------===//

bool ExecutionContext::Impl::isBound(llvm::ArrayRef<TensorView> inputs,
                                     llvm::ArrayRef<void *> outputs) const {
  if (!bound || inputs.size() != program.inputs.size() ||
      outputs.size() != program.outputs.size())
    return false;
  for (auto [tensor, view] : llvm::zip(tensors, inputs))
    if (tensor.pointer != view.data || tensor.offset != view.byteOffset ||
        llvm::ArrayRef(tensor.strides) != view.strides)
      return false;
  for (auto [i, pointer] : llvm::enumerate(outputs))
    if (tensors[inputs.size() + i].pointer != pointer)
      return false;
  return true;
}

// An input that a program may update in place, given as the very output.
bool ExecutionContext::Impl::isInPlace(size_t input, size_t output) const {
  const BoundTensor &in = tensors[input];
  return in.dense && in.from == tensors[program.inputs.size() + output].from &&
         llvm::is_contained(program.aliases,
                            Alias{uint32_t(input), uint32_t(output)});
}

// Quadratic, but only done when the pointers are not those of the last run.
Error ExecutionContext::Impl::checkOutputsApart() {
  size_t inputs = program.inputs.size(), all = tensors.size();
  inPlace.clear();
  auto range = [&](size_t slot) {
    auto at = reinterpret_cast<uintptr_t>(tensors[slot].from);
    std::pair<int64_t, int64_t> reach = {0, slotBytes[slot]};
    if (slot < inputs && !tensors[slot].dense)
      reach = reachOf(tensors[slot].layout, byteSize(specOf(slot).dtype));
    return std::pair(at + reach.first, at + reach.second);
  };
  for (size_t out = inputs; out < all; ++out)
    for (size_t other = 0; other < out; ++other) {
      if (!slotBytes[out] || !slotBytes[other])
        continue;
      auto [outBegin, outEnd] = range(out);
      auto [begin, end] = range(other);
      if (end <= outBegin || outEnd <= begin)
        continue;
      if (other < inputs && isInPlace(other, out - inputs)) {
        inPlace.push_back({uint32_t(other), uint32_t(out - inputs)});
        continue;
      }
      return llvm::createStringError("%s overlaps %s", nameOf(out).c_str(),
                                     nameOf(other).c_str());
    }
  return Error::success();
}

// Vectors of a row up to which the start is a constant of the form. In longer
// ones hardly any warp has to ask, and lanes without an end are better off with
// a branch than with accesses under its condition.
static constexpr uint32_t kMostVectorsOfConstantStart = 65536;

// Elements before the first whole vector of all rows of a launch, if they are
// as many in all buffers.
std::optional<uint32_t>
ExecutionContext::Impl::commonStart(const RolledRows &rows) const {
  auto startOf = [&](const RolledRows::Item &item) {
    auto address = reinterpret_cast<uintptr_t>(slots[slotIndex(item.buffer)]);
    return uint32_t(0 - address / item.elementBytes) & (rows.unit - 1);
  };
  if (!rows.columns || !llvm::all_equal(llvm::map_range(rows.buffers, startOf)))
    return std::nullopt;
  return rows.buffers.empty() ? 0 : startOf(rows.buffers.front());
}

// The variant of each launch that its buffers need.
Error ExecutionContext::Impl::chooseKernels(std::optional<Stream> stream) {
  if (!device.info().splitsAccesses)
    return Error::success();
  auto isUpdated = [&](const ReadyLaunch &launch) {
    return llvm::any_of(inPlace, [&](Alias alias) {
      return llvm::is_contained(launch.callerSlots, alias.input) &&
             llvm::is_contained(launch.callerSlots,
                                program.inputs.size() + alias.output);
    });
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    auto *launch = std::get_if<ReadyLaunch>(&steps[i].action);
    if (!launch || launch->callerSlots.empty() || launch->vendor.product)
      continue;
    KernelVariant variant;
    size_t narrowest = launch->callerSlots.front();
    for (uint32_t slot : launch->callerSlots)
      if (slotBytes[slot] && alignmentOf(slots[slot]) < variant.alignment) {
        variant.alignment = alignmentOf(slots[slot]);
        narrowest = slot;
      }
    variant.inPlace = isUpdated(*launch);
    const RolledRows &rows = *launch->rolled;
    if (variant.alignment < kBufferAlignment)
      if (std::optional<uint32_t> first = commonStart(rows)) {
        variant.rolledColumns = rows.columns;
        variant.rolledUnit = rows.unit;
        if (rows.columns / rows.unit <= kMostVectorsOfConstantStart)
          variant.rolledFirst = *first;
      }
    const LoadedKernel *kernel =
        executable->findVariant(launch->kernel, variant);
    if (!kernel) {
      if (Error error = mayPrepare(narrowest, stream))
        return error;
      auto made = executable->makeVariant(launch->kernel, variant);
      if (!made)
        return describe(steps[i].index, made.takeError());
      kernel = *made;
    }
    if (launch->request.kernel != kernel) {
      launch->request.kernel = kernel;
      stale[i] = 1;
    }
  }
  return Error::success();
}

static Error checkCount(const char *kind, size_t expected, size_t found) {
  if (expected == found)
    return Error::success();
  return llvm::createStringError("expected %zu %ss, found %zu", expected, kind,
                                 found);
}

Error ExecutionContext::Impl::bind(llvm::ArrayRef<TensorView> inputs,
                                   llvm::ArrayRef<void *> outputs,
                                   std::optional<Stream> stream) {
  if (isBound(inputs, outputs))
    return Error::success();
  bound = anyStaged = false;
  if (Error error = bindTensors(inputs, outputs, stream))
    return llvm::make_error<ArgumentError>(llvm::toString(std::move(error)));
  if (Error error = chooseKernels(stream))
    return error;
  if (Error error = fillArguments())
    return error;
  bound = pointersChanged = true;
  return Error::success();
}

Error ExecutionContext::Impl::bindTensors(llvm::ArrayRef<TensorView> inputs,
                                          llvm::ArrayRef<void *> outputs,
                                          std::optional<Stream> stream) {
  if (Error error = checkCount("input", program.inputs.size(), inputs.size()))
    return error;
  if (Error error =
          checkCount("output", program.outputs.size(), outputs.size()))
    return error;
  auto changes = [&](size_t slot, auto bindOne) -> Error {
    void *before = slots[slot];
    Error error = bindOne();
    if (slots[slot] != before)
      markUsers(slot);
    return error;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Error error =
            changes(i, [&] { return bindInput(i, inputs[i], stream); }))
      return error;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (Error error = changes(inputs.size() + i, [&] {
          return bindOutput(i, outputs[i], stream);
        }))
      return error;
  return checkOutputsApart();
}
