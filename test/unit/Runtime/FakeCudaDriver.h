//===- FakeCudaDriver.h - what the fake driver recorded ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_RUNTIME_FAKECUDADRIVER_H
#define FUSEC_TEST_UNIT_RUNTIME_FAKECUDADRIVER_H

#include "Driver.h"

#include <array>
#include <map>
#include <memory>
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
};

/// The fake's whole state; one per process.
struct FakeCuda {
  /// A function whose next call fails with code 719.
  std::string failing;
  /// Arguments to read at a launch, which cannot know their number.
  size_t argCount = 0;
  std::vector<FakeLaunch> launches;
  std::vector<std::unique_ptr<FakeFunction>> functions;
  std::vector<void *> contexts;
  int retained = 0, pushes = 0, allocations = 0, modules = 0, modulesLoaded = 0;
  int streams = 0, synchronizations = 0;
};

extern "C" FakeCuda *fakeCuda();

#endif // FUSEC_TEST_UNIT_RUNTIME_FAKECUDADRIVER_H
