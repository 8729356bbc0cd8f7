//===- Harness.h - compile and run one kernel text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_EMULATOR_HARNESS_H
#define FUSEC_TEST_UNIT_EMULATOR_HARNESS_H

#include "TensorMap.h"
#include "fusec/Runtime/Emulator/EmulatorModule.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace fusec::runtime::emulator::test {

/// Runs kernel `k` of a text on vectors. Arguments are given in the order of
/// the kernel's parameters.
class KernelRun {
public:
  explicit KernelRun(std::string text, EmulatorCompileOptions options = {})
      : text(std::move(text)) {
    llvm::Expected<std::unique_ptr<EmulatorModule>> made =
        EmulatorModule::compile({EmulatorKernel{"k", this->text}}, options);
    if (made)
      module = std::move(*made);
    else
      ADD_FAILURE() << llvm::toString(made.takeError());
  }

  template <class T>
  KernelRun &in(std::vector<T> &data, const char *name = "in",
                EmulatorMemory::Contents contents =
                    EmulatorMemory::Contents::Initialised) {
    llvm::Error error = memory.registerBuffer(
        data.data(), data.size() * sizeof(T), name, contents);
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    pointers.push_back(
        std::make_unique<uint64_t>(reinterpret_cast<uint64_t>(data.data())));
    args.push_back(pointers.back().get());
    return *this;
  }
  template <class T>
  KernelRun &out(std::vector<T> &data, const char *name = "out") {
    return in(data, name, EmulatorMemory::Contents::Uninitialised);
  }
  KernelRun &scalar(int32_t value) {
    pointers.push_back(std::make_unique<uint64_t>(uint32_t(value)));
    args.push_back(pointers.back().get());
    return *this;
  }

  /// A tensor map of `data`; it stays what `map` says but for its buffer.
  template <class T>
  KernelRun &map(std::vector<T> &data, const TensorMapArg &map,
                 bool output = false) {
    llvm::Error error = memory.registerBuffer(
        data.data(), data.size() * sizeof(T), output ? "out" : "in",
        output ? EmulatorMemory::Contents::Uninitialised
               : EmulatorMemory::Contents::Initialised);
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    error = checkTensorMap(map, int64_t(data.size() * sizeof(T)));
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    maps.push_back(
        std::make_unique<FusecTensorMap>(makeTensorMap(map, data.data())));
    args.push_back(maps.back().get());
    return *this;
  }

  /// A map of convolution windows of `data`.
  template <class T>
  KernelRun &windows(std::vector<T> &data, const Im2colMapArg &map) {
    llvm::Error error =
        memory.registerBuffer(data.data(), data.size() * sizeof(T), "in");
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    error = checkIm2colMap(map, int64_t(data.size() * sizeof(T)));
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    maps.push_back(
        std::make_unique<FusecTensorMap>(makeIm2colMap(map, data.data())));
    args.push_back(maps.back().get());
    return *this;
  }

  /// Takes the last argument away.
  void dropLast() { args.pop_back(); }

  llvm::Error launch(uint32_t blocks, uint32_t threads,
                     uint32_t dynamicShared = 0) {
    EmulatorLaunch launch;
    launch.entry = "k";
    launch.grid = {blocks, 1, 1};
    launch.threads = threads;
    launch.dynamicSharedBytes = dynamicShared;
    launch.args = args.data();
    launch.cluster = cluster;
    launch.overlaps = overlaps;
    return module->launch(launch, memory.buffers(), options);
  }
  /// Launches and expects no fault.
  void good(uint32_t blocks, uint32_t threads, uint32_t dynamicShared = 0) {
    llvm::Error error = launch(blocks, threads, dynamicShared);
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  }
  /// Launches and returns the faults.
  std::vector<EmulatorReport> faults(uint32_t blocks, uint32_t threads,
                                     uint32_t dynamicShared = 0) {
    std::vector<EmulatorReport> result;
    llvm::Error rest = llvm::handleErrors(
        launch(blocks, threads, dynamicShared),
        [&](EmulatorError &error) { result = std::move(error.reports); });
    EXPECT_FALSE(static_cast<bool>(rest)) << llvm::toString(std::move(rest));
    return result;
  }

  EmulatorMemory memory;
  EmulatorRunOptions options;
  uint32_t cluster = 1;
  bool overlaps = false;
  std::unique_ptr<EmulatorModule> module;

private:
  std::string text;
  std::vector<std::unique_ptr<uint64_t>> pointers;
  std::vector<std::unique_ptr<FusecTensorMap>> maps;
  std::vector<void *> args;
};

} // namespace fusec::runtime::emulator::test

#endif // FUSEC_TEST_UNIT_EMULATOR_HARNESS_H
