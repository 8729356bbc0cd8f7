//===- Isolate.cpp - a launch by itself -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Isolate.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec;
using namespace fusec::tune;
using runtime::BufferRef;
using runtime::Space;

namespace {
/// Gives the buffers of one launch their places in a program of its own.
class Isolation {
public:
  Isolation(const runtime::Program &from, const driver::KernelSummary &kernel)
      : from(from), decision(*kernel.decision) {
    result.inputs = decision.inputs;
    result.outputs = decision.outputs;
  }

  llvm::Expected<runtime::Program> run(runtime::Launch launch);

private:
  BufferRef placeOf(BufferRef old);

  const runtime::Program &from;
  const driver::ScheduleDecision &decision;
  runtime::Program result;
  std::vector<std::pair<BufferRef, BufferRef>> places;
  size_t seen = 0;
};
} // namespace

/// The new place of the next buffer among the arguments.
BufferRef Isolation::placeOf(BufferRef old) {
  size_t position = seen++, numInputs = result.inputs.size();
  BufferRef place{Space::Input, uint32_t(position)};
  if (position >= numInputs + result.outputs.size()) {
    place = {Space::Temporary, uint32_t(result.temporaries.size())};
    runtime::Temporary scratch = from.temporaries[old.index];
    scratch.offset = -1;
    result.temporaries.push_back(scratch);
  } else if (position >= numInputs) {
    place = {Space::Output, uint32_t(position - numInputs)};
  }
  places.push_back({old, place});
  return place;
}

llvm::Expected<runtime::Program> Isolation::run(runtime::Launch launch) {
  result.kernels.push_back(from.kernels[launch.kernel]);
  launch.kernel = 0;
  for (runtime::KernelArg &arg : launch.args) {
    if (auto *buffer = std::get_if<BufferRef>(&arg)) {
      bool isScratch = seen >= result.inputs.size() + result.outputs.size();
      if (isScratch && buffer->space != Space::Temporary)
        return llvm::createStringError(
            "the kernel has a buffer beside its inputs, outputs and scratch");
      *buffer = placeOf(*buffer);
    } else if (auto *map = std::get_if<runtime::TensorMapArg>(&arg)) {
      auto it = llvm::find_if(
          places, [&](const auto &pair) { return pair.first == map->buffer; });
      if (it == places.end())
        return llvm::createStringError(
            "a tensor map names a buffer that is no argument");
      map->buffer = it->second;
    } else if (std::holds_alternative<runtime::TableArg>(arg)) {
      return llvm::createStringError("several regions share the launch");
    }
  }
  result.steps.push_back(std::move(launch));
  if (llvm::Error error = runtime::planWorkspace(result))
    return std::move(error);
  return std::move(result);
}

llvm::Expected<runtime::Program>
fusec::tune::isolate(const runtime::Program &program,
                     const driver::KernelSummary &kernel) {
  return Isolation(program, kernel)
      .run(std::get<runtime::Launch>(program.steps[kernel.step]));
}
