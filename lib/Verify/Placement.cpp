//===- Placement.cpp - where a caller holds its tensors -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Verify/Placement.h"

using namespace fusec;
using namespace fusec::verify;
using llvm::Error;
using llvm::Expected;

/// Elements behind a tensor, and what fills the room around it: NaN in every
/// float type.
static constexpr int64_t kBehind = 5;
static constexpr std::byte kFill{0xff};

namespace {
/// A placed tensor on the device and the host's image of its buffer.
struct Placed {
  runtime::Buffer buffer;
  std::vector<std::byte> image;
  llvm::SmallVector<int64_t> strides;
  /// Of the element at index 0.
  int64_t firstByte = 0;

  void *first() const {
    return static_cast<std::byte *>(buffer.data()) + firstByte;
  }
};

class Run {
public:
  Run(const runtime::Executable &executable, const Placement &placement)
      : program(executable.program()), device(executable.device()),
        placement(placement) {}
  Error place(llvm::ArrayRef<llvm::ArrayRef<std::byte>> data);
  Error run(runtime::ExecutionContext &context);
  Expected<std::vector<std::vector<std::byte>>> results();

private:
  Expected<Placed> make(const runtime::TensorSpec &spec,
                        const TensorPlace &place,
                        llvm::ArrayRef<std::byte> data);

  const runtime::Program &program;
  std::shared_ptr<runtime::Device> device;
  const Placement &placement;
  std::vector<Placed> inputs, outputs;
  /// The input that an output is in place of, or -1.
  std::vector<int64_t> sharedWith;
};
} // namespace

/// Row-major strides.
static llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

Expected<Placed> Run::make(const runtime::TensorSpec &spec,
                           const TensorPlace &place,
                           llvm::ArrayRef<std::byte> data) {
  Placed made;
  made.strides =
      place.strides.empty() ? denseStrides(spec.shape) : place.strides;
  int64_t elementBytes = byteSize(spec.dtype), low = 0, high = 0;
  int64_t elements = spec.bytes() / elementBytes;
  if (elements > 0)
    for (auto [size, stride] : llvm::zip_equal(spec.shape, made.strides))
      (stride < 0 ? low : high) += (size - 1) * stride;
  made.firstByte = (place.offset - low) * elementBytes;
  made.image.assign((place.offset + high - low + 1 + kBehind) * elementBytes,
                    kFill);
  for (int64_t i = 0; i < elements && !data.empty(); ++i) {
    int64_t rest = i, at = 0;
    for (size_t dim = spec.shape.size(); dim-- > 0;) {
      at += rest % spec.shape[dim] * made.strides[dim];
      rest /= spec.shape[dim];
    }
    std::copy_n(data.begin() + i * elementBytes, elementBytes,
                made.image.begin() + made.firstByte + at * elementBytes);
  }
  Expected<runtime::Buffer> buffer =
      runtime::Buffer::allocate(device, made.image.size());
  if (!buffer)
    return buffer.takeError();
  made.buffer = std::move(*buffer);
  if (Error error = device->copyIn(made.buffer.data(), made.image.data(),
                                   made.image.size(), nullptr))
    return std::move(error);
  return made;
}

Error Run::place(llvm::ArrayRef<llvm::ArrayRef<std::byte>> data) {
  for (auto [i, spec] : llvm::enumerate(program.inputs)) {
    Expected<Placed> made = make(spec, placement.inputs[i], data[i]);
    if (!made)
      return made.takeError();
    inputs.push_back(std::move(*made));
  }
  for (auto [i, spec] : llvm::enumerate(program.outputs)) {
    Expected<Placed> made = make(spec, placement.outputs[i], {});
    if (!made)
      return made.takeError();
    outputs.push_back(std::move(*made));
  }
  sharedWith.assign(outputs.size(), -1);
  for (const runtime::Alias &alias : program.aliases)
    if (placement.inPlace && placement.inputs[alias.input].strides.empty() &&
        sharedWith[alias.output] < 0 &&
        !llvm::is_contained(sharedWith, int64_t(alias.input)))
      sharedWith[alias.output] = alias.input;
  return Error::success();
}

Error Run::run(runtime::ExecutionContext &context) {
  std::vector<runtime::TensorView> views;
  for (auto [i, input] : llvm::enumerate(inputs))
    views.emplace_back(input.buffer.data(), input.firstByte,
                       placement.inputs[i].strides.empty()
                           ? llvm::ArrayRef<int64_t>()
                           : llvm::ArrayRef<int64_t>(input.strides));
  std::vector<void *> pointers;
  for (auto [i, output] : llvm::enumerate(outputs))
    pointers.push_back(sharedWith[i] < 0 ? output.first()
                                         : inputs[sharedWith[i]].first());
  Error error = context.runViews(views, pointers);
  // Also after a failure: nothing may still use the buffers.
  return llvm::joinErrors(std::move(error), device->synchronize(nullptr));
}

Expected<std::vector<std::vector<std::byte>>> Run::results() {
  std::vector<std::vector<std::byte>> all;
  for (auto [i, spec] : llvm::enumerate(program.outputs)) {
    Placed &placed = sharedWith[i] < 0 ? outputs[i] : inputs[sharedWith[i]];
    std::vector<std::byte> image(placed.image.size());
    if (Error error = device->copyOut(image.data(), placed.buffer.data(),
                                      image.size(), nullptr))
      return std::move(error);
    if (Error error = device->synchronize(nullptr))
      return std::move(error);
    auto begin = image.begin() + placed.firstByte, end = begin + spec.bytes();
    auto isFill = [](std::byte byte) { return byte == kFill; };
    if (!std::all_of(image.begin(), begin, isFill) ||
        !std::all_of(end, image.end(), isFill))
      return llvm::createStringError("output '" + spec.name +
                                     "': memory around it was written");
    all.emplace_back(begin, end);
  }
  return all;
}

Expected<std::vector<std::vector<std::byte>>>
verify::runPlaced(const std::shared_ptr<const runtime::Executable> &executable,
                  llvm::ArrayRef<llvm::ArrayRef<std::byte>> inputs,
                  const Placement &placement) {
  auto context = runtime::ExecutionContext::create(executable);
  if (!context)
    return context.takeError();
  Run run(*executable, placement);
  if (Error error = run.place(inputs))
    return std::move(error);
  if (Error error = run.run(**context))
    return std::move(error);
  return run.results();
}
