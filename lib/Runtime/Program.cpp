//===- Program.cpp - sizes and liveness of a program ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Program.h"
#include "Liveness.h"

#include <algorithm>
#include <limits>

using namespace fusec;
using namespace fusec::runtime;

static constexpr int64_t kTooLarge = std::numeric_limits<int64_t>::max();

// The product, saturated. A zero dimension wins over any other, so that an
// empty tensor with one huge dimension is legal.
static int64_t product(const std::vector<int64_t> &shape, int64_t unit) {
  for (int64_t dim : shape)
    if (dim <= 0)
      return 0;
  int64_t result = unit;
  for (int64_t dim : shape)
    if (__builtin_mul_overflow(result, dim, &result))
      return kTooLarge;
  return result;
}

int64_t TensorSpec::elements() const { return product(shape, 1); }
int64_t TensorSpec::bytes() const { return product(shape, byteSize(dtype)); }

llvm::Expected<int64_t> runtime::checkedBytes(const TensorSpec &spec) {
  for (int64_t dim : spec.shape)
    if (dim < 0)
      return llvm::createStringError(
          "tensor '%s': expected dimensions of at least 0, found %lld",
          spec.name.c_str(), static_cast<long long>(dim));
  int64_t bytes = spec.bytes();
  if (bytes == kTooLarge)
    return llvm::createStringError("tensor '%s': size does not fit 63 bits",
                                   spec.name.c_str());
  return bytes;
}

int64_t runtime::bufferBytes(const Program &program, BufferRef ref) {
  switch (ref.space) {
  case Space::Input:
    return program.inputs[ref.index].bytes();
  case Space::Output:
    return program.outputs[ref.index].bytes();
  case Space::Constant:
    return program.constants[ref.index].spec.bytes();
  case Space::Temporary:
    return program.temporaries[ref.index].bytes;
  }
  return 0;
}

static uint32_t fieldBytes(const TableArg::Field &field) {
  const auto *scalar = std::get_if<ScalarArg>(&field);
  return scalar ? scalar->bytes : 8;
}

void TableArg::forEachField(
    llvm::function_ref<void(const Field &, uint32_t)> visit) const {
  uint32_t offset = 0;
  for (const Field &field : fields) {
    uint32_t bytes = fieldBytes(field);
    offset = (offset + bytes - 1) / bytes * bytes;
    visit(field, offset);
    offset += bytes;
  }
}

uint32_t TableArg::bytes() const {
  uint32_t end = 0;
  forEachField([&](const Field &field, uint32_t offset) {
    end = offset + fieldBytes(field);
  });
  return (end + 7) / 8 * 8;
}

namespace {
// Calls `visit` for the buffers of each kind of step.
struct BufferVisitor {
  llvm::function_ref<void(BufferRef)> visit;
  void operator()(const Launch &launch) const {
    for (const KernelArg &arg : launch.args)
      if (const auto *ref = std::get_if<BufferRef>(&arg))
        visit(*ref);
      else if (const auto *table = std::get_if<TableArg>(&arg))
        for (const TableArg::Field &field : table->fields) {
          if (const auto *inner = std::get_if<BufferRef>(&field))
            visit(*inner);
        }
      else if (const auto *map = std::get_if<TensorMapArg>(&arg))
        visit(map->buffer);
    if (launch.vendor)
      visit(launch.vendor->workspace);
  }
  void operator()(const HostCall &call) const {
    for (BufferRef ref : call.args)
      visit(ref);
  }
  void operator()(const Fill &fill) const { visit(fill.buffer); }
  void operator()(const Copy &copy) const {
    visit(copy.from);
    visit(copy.to);
  }
};
} // namespace

void runtime::forEachBuffer(const Step &step,
                            llvm::function_ref<void(BufferRef)> visit) {
  std::visit(BufferVisitor{visit}, step);
}

std::vector<Interval> runtime::temporaryIntervals(const Program &program) {
  std::vector<Interval> intervals(program.temporaries.size());
  for (size_t step = 0; step < program.steps.size(); ++step)
    forEachBuffer(program.steps[step], [&](BufferRef ref) {
      if (ref.space != Space::Temporary || ref.index >= intervals.size())
        return;
      Interval &interval = intervals[ref.index];
      interval.first = std::min(interval.first, step);
      interval.last = step;
    });
  return intervals;
}
