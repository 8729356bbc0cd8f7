//===- FakeCudaDriver.h - what the fake driver recorded ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_RUNTIME_FAKECUDADRIVER_H
#define FUSEC_TEST_UNIT_RUNTIME_FAKECUDADRIVER_H

#include "Driver.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

struct FakeFunction {
  std::string name;
  std::map<int, int> attributes;
  bool loaded = false;
};

struct FakeLaunch {
  std::string name;
  std::array<unsigned, 3> grid;
  unsigned block, shared, cluster;
  void *stream;
  std::vector<uint64_t> args;
  bool cooperative = false;
  /// May begin before the launch before it has ended.
  bool overlaps = false;
};

/// The fake's whole state; one per process. Its functions hold `mutex`.
struct FakeCuda {
  std::mutex mutex;
  /// Streams that are being captured. What CUDA forbids meanwhile fails with
  /// code 900 and is named in `illegal`.
  std::set<void *> capturing;
  std::vector<std::string> illegal;
  int graphLaunches = 0, graphUpdates = 0, graphs = 0;
  int deviceCount = 1;
  /// Attributes of the devices, by their CUDA numbers, that are not as usual.
  std::map<int, int> deviceAttributes;
  /// Of the last primary context.
  int ordinal = -1;
  /// A function whose next call fails with code 719.
  std::string failing;
  /// Arguments to read at a launch, which cannot know their number.
  size_t argCount = 0;
  std::vector<FakeLaunch> launches;
  std::vector<std::unique_ptr<FakeFunction>> functions;
  int retained = 0, pushes = 0, allocations = 0, modules = 0, modulesLoaded = 0;
  int streams = 0, synchronizations = 0;
  int tensorMaps = 0;
};

extern "C" FakeCuda *fakeCuda();
/// The contexts of the calling thread, the current one last.
extern "C" std::vector<void *> *fakeContexts();
/// Everything as at the start.
extern "C" void fakeReset();

#endif // FUSEC_TEST_UNIT_RUNTIME_FAKECUDADRIVER_H
