//===- Benchmark.h - measuring an executable --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model is run on several sets of buffers in turn (inputs, outputs, workspace
// and, on a GPU, constants), so many that a set has left the last-level cache
// when its turn comes again: times are those of data in memory.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_BENCHMARK_H
#define FUSEC_LIB_TOOL_BENCHMARK_H

#include "fusec/Runtime/Executable.h"
#include "fusec/Runtime/Measure.h"
#include "fusec/Support/HostTensor.h"

namespace fusec::tool {

/// Times in µs by nearest rank.
struct Times {
  double median = 0, p10 = 0, p90 = 0, least = 0, most = 0;
  int64_t count = 0;

  /// `samples` is not empty.
  static Times of(std::vector<double> samples);
};

/// The times of whole calls.
struct CallTimes {
  /// Between events on the stream before and after the call.
  Times device;
  /// By the host's clock, from the call until its results are there.
  Times call;
};

/// An executable with sets of buffers. Not thread-safe.
class Benchmark {
public:
  /// Makes the sets and runs each once. `rotate` off makes one set.
  static llvm::Expected<std::unique_ptr<Benchmark>>
  create(std::shared_ptr<const runtime::Executable> executable,
         llvm::ArrayRef<HostTensor> inputs, bool rotate);
  ~Benchmark();

  /// Times `repeats` calls, each waited for, after `warmups` others. `progress`
  /// is told how many are done.
  llvm::Expected<CallTimes>
  timeCalls(int64_t repeats, int64_t warmups,
            const std::function<void(int64_t)> &progress);

  /// Times each step of the program alone, at least `repeats` times: all sets
  /// do one step before any does the next. On a GPU it first gets other work,
  /// so that launches do not wait for the host. Empty for a step that does
  /// nothing.
  llvm::Expected<std::vector<std::optional<Times>>>
  timeSteps(int64_t repeats, const std::function<void(int64_t)> &progress);

  /// Joules per call: calls for `seconds`, all else that the GPU uses included.
  /// Fails where the energy is not known.
  llvm::Expected<double> energyPerCall(double seconds);

  size_t numSets() const { return sets.size(); }
  /// Of one set.
  uint64_t setBytes() const { return bytesOfSet; }
  /// Bytes of the last-level cache; 0 if not known.
  uint64_t cacheBytes() const { return bytesOfCache; }

private:
  struct Set;
  Benchmark() = default;
  llvm::Error addSet(std::shared_ptr<const runtime::Executable> executable,
                     llvm::ArrayRef<HostTensor> inputs);
  llvm::Expected<double> elapsed(size_t first);
  llvm::Error timeStep(size_t step, std::vector<double> &times);

  std::shared_ptr<runtime::Device> device;
  std::vector<std::unique_ptr<Set>> sets;
  std::vector<runtime::Event> events;
  std::optional<runtime::Occupier> occupier;
  uint64_t bytesOfSet = 0, bytesOfCache = 0;
};

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_BENCHMARK_H
