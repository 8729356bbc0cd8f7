//===- DeviceBenchTest.cpp - candidates on a device -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small kernels in the emulator: right ones, wrong ones, ones that forget an
// element, fault or are no kernels.
//===----------------------------------------------------------------------===//
#include "fusec/Tune/DeviceBench.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::tune;

namespace {
constexpr int kElements = 40;

/// y = x + 1 by one block, as `body` says.
Candidate candidate(const std::string &name, const std::string &body) {
  runtime::Program program;
  program.inputs = {{"", DType::I32, {kElements}}};
  program.outputs = {{"", DType::I32, {kElements}}};
  runtime::Kernel kernel;
  kernel.entry = "k_" + name;
  kernel.threads = 64;
  kernel.source = "FUSEC_KERNEL(k_" + name +
                  ", 64)(const i32 *in, i32 *out, i32 n) {\n"
                  "  const i32 i = tid();\n" +
                  body + "\n}\nFUSEC_EXPORT(k_" + name + ")";
  program.kernels = {kernel};
  runtime::Launch launch;
  launch.args = {runtime::BufferRef{runtime::Space::Input, 0},
                 runtime::BufferRef{runtime::Space::Output, 0},
                 runtime::ScalarArg{kElements, 4}};
  program.steps = {launch};
  return {name, "any", 1, std::move(program)};
}

constexpr char kRight[] = "if (i < n) st1(out, i, i_add(ld1(in, i), 1));";

/// The device's runs, and times by position that are written down.
struct ScriptedBench final : DeviceBench {
  explicit ScriptedBench(std::shared_ptr<runtime::Device> device)
      : DeviceBench(std::move(device)) {
    llvm::cantFail(begin());
  }
  llvm::Expected<double> time(size_t candidate) override {
    llvm::Expected<double> real = DeviceBench::time(candidate);
    if (!real)
      return real;
    EXPECT_GT(*real, 0);
    return 100 - double(candidate);
  }
};
} // namespace

TEST(DeviceBench, BelievesOnlyWhatComputesTheSame) {
  Candidates task;
  task.candidates = {
      candidate("model", kRight),
      candidate("wrong", "if (i < n) st1(out, i, i_add(ld1(in, i), 2));"),
      candidate("forgets", "if (i < n - 1) st1(out, i, i_add(ld1(in, i), 1));"),
      candidate("faults", "st1(out, i, ld1(in, i));"),
      candidate("text", "this is no kernel;"),
      candidate("same", "if (tid() < n) st1(out, i, i_add(1, ld1(in, i)));"),
  };
  ScriptedBench bench(runtime::createEmulatorDevice());
  SearchOptions options;
  options.deadline = bench.now() + 600;
  llvm::Expected<SearchResult> result = search(task, bench, options);
  ASSERT_TRUE(static_cast<bool>(result)) << llvm::toString(result.takeError());
  auto why = [&](size_t i) { return result->candidates[i].dropped; };
  EXPECT_NE(why(1).find("its result is wrong"), std::string::npos) << why(1);
  EXPECT_NE(why(2).find("element 39"), std::string::npos) << why(2);
  EXPECT_NE(why(3).find("it failed"), std::string::npos) << why(3);
  EXPECT_NE(why(4).find("it failed"), std::string::npos) << why(4);
  EXPECT_EQ(result->winner, 5u);
  EXPECT_EQ(result->timed(), 2u);
}

TEST(DeviceBench, DataAreThoseOfTheirKind) {
  Candidates task;
  task.candidates = {candidate("copy", "if (i < n) st1(out, i, ld1(in, i));")};
  auto bench =
      llvm::cantFail(DeviceBench::create(runtime::createEmulatorDevice()));
  llvm::cantFail(bench->load(task));
  for (Data data : {Data::Random, Data::Simple}) {
    std::vector<HostTensor> first = llvm::cantFail(bench->run(0, data)),
                            again = llvm::cantFail(bench->run(0, data));
    ASSERT_EQ(first.size(), 1u);
    bool differ = false;
    for (int i = 0; i < kElements; ++i) {
      EXPECT_GE(first[0].getI64(i), 0);
      EXPECT_LE(first[0].getI64(i), 7);
      EXPECT_EQ(first[0].getI64(i), again[0].getI64(i));
      differ |= first[0].getI64(i) != first[0].getI64(0);
    }
    EXPECT_TRUE(differ);
  }
}
