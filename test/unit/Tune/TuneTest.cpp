//===- TuneTest.cpp - from a graph to measured choices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real kernels in the emulator, with times that are written down, so that what
// wins is known.
//===----------------------------------------------------------------------===//
#include "fusec/Tune/Tune.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Tune/DeviceBench.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tune;

namespace {
constexpr char kProduct[] = R"(
  func.func @f(%x: tensor<33x40xf16>, %w: tensor<40x48xf16>) -> tensor<33x48xf16> {
    %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<33x40xf16>, tensor<40x48xf16> -> tensor<33x48xf16>
    %z = graph.abs %y : tensor<33x48xf16>
    return %z : tensor<33x48xf16>
  })";

/// Real runs; candidate `fast` is the fastest.
struct ScriptedBench final : DeviceBench {
  ScriptedBench(std::shared_ptr<runtime::Device> device, size_t fast)
      : DeviceBench(std::move(device)), fast(fast) {
    llvm::cantFail(begin());
  }
  llvm::Expected<double> time(size_t candidate) override {
    return candidate == fast ? 5 : 10 + double(candidate);
  }
  double now() override { return 0; }
  size_t fast;
};

class TuneTest : public testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    driver::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    ASSERT_FALSE(
        llvm::sys::fs::createUniqueDirectory("fusec-tune-test", folder));
    record = std::make_shared<runtime::TuningRecord>(folder.str().str());
    device = runtime::createEmulatorDevice();
    machine = machineOf(TargetInfo::h200(), device.get());
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  /// The only kernel of the graph as `chooser` has it.
  std::pair<std::string, driver::ScheduleDecision>
  compile(std::shared_ptr<const ScheduleChooser> chooser) {
    auto module = parseSourceString<ModuleOp>(kProduct, &context);
    driver::CompileOptions options;
    options.chooser = std::move(chooser);
    driver::Compilation result =
        llvm::cantFail(driver::compile(*module, options));
    EXPECT_EQ(result.kernels.size(), 1u);
    EXPECT_EQ(result.program.kernels.size(), 1u);
    return {result.program.kernels[0].source,
            result.kernels[0].decision.value_or(driver::ScheduleDecision())};
  }
  std::shared_ptr<RecordChooser>
  chooserOf(std::shared_ptr<const runtime::TuningRecord> from) {
    return std::make_shared<RecordChooser>(std::move(from), machine);
  }
  TuneReport tuneWith(size_t fast, RecordChooser &chooser) {
    ScriptedBench bench(device, fast);
    auto module = parseSourceString<ModuleOp>(kProduct, &context);
    return llvm::cantFail(
        tune::tune(*module, {}, bench, chooser, machine, record.get(), {}));
  }

  MLIRContext context;
  llvm::SmallString<128> folder;
  std::shared_ptr<runtime::TuningRecord> record;
  std::shared_ptr<runtime::Device> device;
  Machine machine;
};
} // namespace

TEST_F(TuneTest, WhatWinsIsCompiledFromThenOn) {
  std::string model = compile(nullptr).first;
  EXPECT_EQ(compile(chooserOf(nullptr)).first, model);
  EXPECT_EQ(compile(chooserOf(record)).first, model) << "an empty record";

  auto chooser = chooserOf(nullptr);
  TuneReport report = tuneWith(2, *chooser);
  ASSERT_EQ(report.kernels.size(), 1u);
  const SearchResult &result = report.kernels[0].result;
  ASSERT_TRUE(result.isMeasured) << toText(report);
  EXPECT_EQ(result.winner, 2u);
  EXPECT_GE(result.candidates.size(), 4u);
  for (const CandidateResult &candidate : result.candidates)
    EXPECT_TRUE(candidate.microseconds)
        << candidate.name << ": " << candidate.dropped;
  EXPECT_EQ(report.microseconds, 5);
  EXPECT_EQ(report.modelMicroseconds, 10);

  auto [tuned, decision] = compile(chooser);
  EXPECT_NE(tuned, model);
  EXPECT_EQ(decision.answer.candidate, 2u);
  EXPECT_NE(decision.answer.why.find("tuned now: 5.00 us"), std::string::npos);
  auto [later, why] = compile(chooserOf(record));
  EXPECT_EQ(later, tuned) << "by the record alone";
  EXPECT_NE(why.answer.why.find("tuning record: 5.00 us against 10.00"),
            std::string::npos)
      << why.answer.why;
}

TEST_F(TuneTest, RecordsOfOthersAreIgnored) {
  auto chooser = chooserOf(nullptr);
  tuneWith(1, *chooser);
  std::string model = compile(nullptr).first;
  auto entries = llvm::cantFail(record->list()).entries;
  ASSERT_EQ(entries.size(), 1u);
  auto changed = [&](auto change) {
    llvm::cantFail(record->clear());
    runtime::TuningEntry other = entries[0];
    change(other);
    llvm::cantFail(record->insert(other));
    return compile(chooserOf(record));
  };
  EXPECT_NE(changed([](auto &) {}).first, model);
  EXPECT_EQ(changed([](auto &e) { e.key.machine = "H100"; }).first, model);
  EXPECT_EQ(changed([](auto &e) { e.key.multiprocessors = 66; }).first, model);
  EXPECT_EQ(changed([](auto &e) { e.key.generator += "x"; }).first, model);
  EXPECT_EQ(changed([](auto &e) { e.key.problem += "x"; }).first, model);
  auto [text, decision] = changed([](auto &e) { e.choice = "GemmConfig<>"; });
  EXPECT_EQ(text, model);
  EXPECT_NE(decision.answer.why.find("no candidate here"), std::string::npos);
  EXPECT_EQ(machineOf(TargetInfo::h200(), nullptr).name, "H200");
  EXPECT_EQ(machine.name, "emulator");
}

TEST_F(TuneTest, NothingIsKeptWithoutTime) {
  struct Late final : DeviceBench {
    explicit Late(std::shared_ptr<runtime::Device> device)
        : DeviceBench(std::move(device)) {
      llvm::cantFail(begin());
    }
    double now() override { return clock += 10; }
    double clock = 0;
  } bench(device);
  auto chooser = chooserOf(nullptr);
  auto module = parseSourceString<ModuleOp>(kProduct, &context);
  TuneOptions options;
  options.seconds = 1;
  TuneReport report = llvm::cantFail(
      tune::tune(*module, {}, bench, *chooser, machine, record.get(), options));
  for (const TunedKernel &kernel : report.kernels)
    EXPECT_FALSE(kernel.result.isMeasured);
  EXPECT_TRUE(llvm::cantFail(record->list()).entries.empty());
  EXPECT_EQ(compile(chooser).first, compile(nullptr).first);
}

// A product and the sums of its columns are one kernel, and two where a search
// found that faster; what constants hold does not matter.
TEST_F(TuneTest, PlansAreTimedAsWholePrograms) {
  auto textWith = [](llvm::StringRef constant) {
    return R"(
  func.func @f(%x: tensor<72x40xf16>) -> (tensor<72x48xf16>, tensor<48xf32>) {
    %w = graph.constant dense<)" +
           constant.str() + R"(> : tensor<40x48xf16>
    %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<72x40xf16>, tensor<40x48xf16> -> tensor<72x48xf16>
    %z = graph.cast %y : tensor<72x48xf16> -> tensor<72x48xf32>
    %s = graph.reduce sum %z [0] : tensor<72x48xf32> -> tensor<48xf32>
    return %y, %s : tensor<72x48xf16>, tensor<48xf32>
  })";
  };
  auto kernelsWith = [&](std::shared_ptr<const ScheduleChooser> chooser,
                         llvm::StringRef constant) {
    auto module = parseSourceString<ModuleOp>(textWith(constant), &context);
    driver::CompileOptions options;
    options.chooser = std::move(chooser);
    return llvm::cantFail(driver::compile(*module, options)).kernels.size();
  };
  std::string one = "\"0x", other = "\"0x";
  for (int i = 0; i < 40 * 48; ++i) {
    one += i % 3 ? "0038" : "003c";
    other += i % 5 ? "0038" : "003c";
  }
  one += '"';
  other += '"';
  ASSERT_EQ(kernelsWith(nullptr, one), 1u);
  auto module = parseSourceString<ModuleOp>(textWith(one), &context);
  ScriptedBench bench(device, /*fast=*/1);
  auto chooser = chooserOf(nullptr);
  TuneReport report = llvm::cantFail(
      tune::tune(*module, {}, bench, *chooser, machine, record.get(), {}));
  ASSERT_GE(report.kernels.size(), 2u) << toText(report);
  const TunedKernel &plan = report.kernels.back();
  EXPECT_EQ(plan.title, "regions of the graph");
  ASSERT_TRUE(plan.result.isMeasured) << toText(report);
  // In one kernel is what the model does, so there is no third way.
  ASSERT_EQ(plan.result.candidates.size(), 2u) << toText(report);
  EXPECT_EQ(plan.result.winner, 1u) << toText(report);
  for (const CandidateResult &candidate : plan.result.candidates)
    EXPECT_EQ(candidate.dropped, "") << candidate.name;
  EXPECT_EQ(kernelsWith(chooser, one), 2u);
  EXPECT_EQ(kernelsWith(chooserOf(record), other), 2u);
  EXPECT_EQ(kernelsWith(nullptr, other), 1u);
}

// The same problem has the same digest wherever it is, another one has not.
TEST_F(TuneTest, ProblemsAreTold) {
  auto problemOf = [&](llvm::StringRef text, NumericsMode numerics) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    driver::CompileOptions options;
    options.chooser = chooserOf(nullptr);
    options.numerics = numerics;
    driver::Compilation result =
        llvm::cantFail(driver::compile(*module, options));
    return result.kernels.front().decision->question.problem;
  };
  std::string text = kProduct;
  auto with = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string changed = text;
    for (size_t at = 0; (at = changed.find(from, at)) != std::string::npos;
         at += to.size())
      changed.replace(at, from.size(), to);
    EXPECT_NE(changed, text);
    return problemOf(changed, NumericsMode::Default);
  };
  std::string problem = problemOf(text, NumericsMode::Default);
  EXPECT_EQ(with("%x", "%other"), problem) << "names do not matter";
  EXPECT_NE(with("33", "34"), problem);
  EXPECT_NE(with("f16", "bf16"), problem);
  EXPECT_NE(with("graph.abs", "graph.neg"), problem);
  EXPECT_NE(problemOf(text, NumericsMode::Exact), problem);
}
