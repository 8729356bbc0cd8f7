//===- VendorTest.cpp - the vendor's library among candidates -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real kernels in the emulator beside a library that multiplies naively, with
// times that are written down.
//===----------------------------------------------------------------------===//
#include "VendorDevice.h"
#include "fusec/Tune/DeviceBench.h"
#include "fusec/Tune/Tune.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tune;

namespace {
constexpr char kPlain[] = R"(
  func.func @f(%x: tensor<33x40xf16>, %w: tensor<40x48xf16>) -> tensor<33x48xf16> {
    %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<33x40xf16>, tensor<40x48xf16> -> tensor<33x48xf16>
    return %y : tensor<33x48xf16>
  })";

/// The residual, a bias and ReLU behind the product.
constexpr char kEpilogue[] = R"(
  func.func @f(%x: tensor<33x40xf16>, %w: tensor<40x48xf16>, %r: tensor<33x48xf16>, %b: tensor<48xf16>) -> tensor<33x48xf16> {
    %y = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<33x40xf16>, tensor<40x48xf16> -> tensor<33x48xf16>
    %s = graph.add %y, %r : tensor<33x48xf16>
    %bias = graph.broadcast %b [1] : tensor<48xf16> -> tensor<33x48xf16>
    %t = graph.add %s, %bias : tensor<33x48xf16>
    %z = graph.relu %t : tensor<33x48xf16>
    return %z : tensor<33x48xf16>
  })";

/// Real runs; kernels take 10 and more, vendors `vendorTime` and more.
struct ScriptedBench final : DeviceBench {
  explicit ScriptedBench(std::shared_ptr<runtime::Device> device)
      : DeviceBench(std::move(device)) {
    llvm::cantFail(begin());
  }
  llvm::Expected<std::vector<std::string>>
  load(const Candidates &task) override {
    isVendor.clear();
    for (const Candidate &candidate : task.candidates)
      isVendor.push_back(candidate.isVendor);
    return DeviceBench::load(task);
  }
  llvm::Expected<double> time(size_t candidate) override {
    double position = double(candidate);
    if (isVendor[candidate])
      return vendorTime + position;
    return candidate == 1 ? 10 : 20 + position;
  }
  double now() override { return 0; }
  double vendorTime = 0;
  std::vector<bool> isVendor;
};

class VendorTest : public testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    driver::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    ASSERT_FALSE(
        llvm::sys::fs::createUniqueDirectory("fusec-vendor-test", folder));
    record = std::make_shared<runtime::TuningRecord>(folder.str().str());
    device = std::make_shared<VendorDevice>();
    machine = machineOf(TargetInfo::h200(), device.get());
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::shared_ptr<RecordChooser> chooserOf(bool useVendor = true) {
    return std::make_shared<RecordChooser>(record, machine, "", useVendor);
  }
  driver::Compilation compile(llvm::StringRef text,
                              std::shared_ptr<RecordChooser> chooser,
                              driver::CompileOptions options = {}) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    options.chooser = chooser;
    options.vendor = chooser;
    return llvm::cantFail(driver::compile(*module, options));
  }
  TuneReport tuneWith(double vendorTime, bool useVendor = true,
                      const driver::CompileOptions &options = {},
                      llvm::StringRef text = kPlain) {
    ScriptedBench bench(device);
    bench.vendorTime = vendorTime;
    RecordChooser chooser(nullptr, machine);
    auto module = parseSourceString<ModuleOp>(text, &context);
    TuneOptions search;
    search.vendor = useVendor;
    return llvm::cantFail(tune::tune(*module, options, bench, chooser, machine,
                                     record.get(), search));
  }

  MLIRContext context;
  llvm::SmallString<128> folder;
  std::shared_ptr<runtime::TuningRecord> record;
  std::shared_ptr<VendorDevice> device;
  Machine machine;
};
} // namespace

TEST_F(VendorTest, WinsAreKeptWithTheFastestKernel) {
  TuneReport report = tuneWith(0);
  ASSERT_EQ(report.kernels.size(), 1u);
  const SearchResult &result = report.kernels[0].result;
  ASSERT_TRUE(result.isMeasured) << toText(report);
  size_t vendors = llvm::count_if(
      result.candidates, [](const CandidateResult &c) { return c.isVendor; });
  EXPECT_EQ(vendors, 8u);
  EXPECT_EQ(result.own, 1u);
  EXPECT_EQ(result.winner, result.candidates.size() - 8) << toText(report);
  EXPECT_NE(toText(report).find("of the fastest kernel, vendor 1"),
            std::string::npos)
      << toText(report);

  auto entries = llvm::cantFail(record->list()).entries;
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].choice, "vendor 1");
  ASSERT_TRUE(entries[0].vendor);
  EXPECT_EQ(entries[0].vendor->algorithm.words[0], 1u);
  EXPECT_EQ(entries[0].vendor->algorithm.version, 130100u);
  EXPECT_EQ(entries[0].vendor->own, result.candidates[1].name);
  EXPECT_EQ(entries[0].vendor->ownMicroseconds, 10);

  // The program holds the call, and the fastest kernel for where it cannot be.
  driver::Compilation with = compile(kPlain, chooserOf());
  driver::Compilation without = compile(kPlain, chooserOf(false));
  ASSERT_EQ(with.program.kernels.size(), 1u);
  EXPECT_EQ(with.program.kernels[0].source, without.program.kernels[0].source);
  const auto &launch = std::get<runtime::Launch>(with.program.steps[0]);
  ASSERT_TRUE(launch.vendor);
  EXPECT_EQ(launch.vendor->algorithm.name, "vendor 1");
  EXPECT_GE(with.program.workspaceBytes, 300);
  EXPECT_FALSE(std::get<runtime::Launch>(without.program.steps[0]).vendor);
  EXPECT_EQ(without.kernels[0].decision->answer.candidate, 1u);
  EXPECT_NE(without.kernels[0].decision->answer.why.find(
                "the fastest kernel; vendor 1 took"),
            std::string::npos)
      << without.kernels[0].decision->answer.why;
  EXPECT_NE(with.kernels[0].decision->answer.why.find("of the fastest kernel"),
            std::string::npos)
      << with.kernels[0].decision->answer.why;

  // It runs where the library is as it was, and its kernel elsewhere.
  std::vector<std::vector<std::byte>> outputs[2];
  for (bool isThere : {true, false}) {
    device->version = isThere ? 130100 : 130200;
    device->products = 0;
    auto loaded =
        llvm::cantFail(runtime::Executable::create(with.program, device));
    EXPECT_EQ(loaded->vendorProblem(), isThere ? "" : "another version");
    std::vector<std::byte> x(33 * 40 * 2), w(40 * 48 * 2);
    for (auto *data : {&x, &w})
      for (size_t i = 0; i < data->size() / 2; ++i)
        reinterpret_cast<_Float16 *>(data->data())[i] =
            _Float16(int(i % 5) - 2);
    outputs[isThere] = llvm::cantFail(runtime::runWithHostData(loaded, {x, w}));
    EXPECT_EQ(device->products, isThere ? 1u : 0u);
  }
  EXPECT_EQ(outputs[0], outputs[1]);
}

TEST_F(VendorTest, IsUsedOnlyWhereItWinsAndIsWanted) {
  auto choiceAfter = [&](double vendorTime, bool useVendor) {
    llvm::cantFail(record->clear());
    device->asked.clear();
    tuneWith(vendorTime, useVendor);
    auto entries = llvm::cantFail(record->list()).entries;
    EXPECT_EQ(entries.size(), 1u);
    EXPECT_EQ(device->asked.empty(), !useVendor);
    return entries[0].choice;
  };
  std::string own = choiceAfter(100, true);
  EXPECT_NE(own.find("Gemm"), std::string::npos);
  EXPECT_EQ(choiceAfter(0, false), own) << "the fastest kernel without it";
  driver::Compilation result = compile(kPlain, chooserOf());
  EXPECT_FALSE(std::get<runtime::Launch>(result.program.steps[0]).vendor);
}

TEST_F(VendorTest, WrongResultsAndMissingLibrariesAreSaid) {
  device->wrong = 1;
  TuneReport report = tuneWith(0);
  const SearchResult &result = report.kernels[0].result;
  size_t first = result.candidates.size() - 8;
  EXPECT_NE(result.candidates[first].dropped.find("its result is wrong"),
            std::string::npos)
      << toText(report);
  EXPECT_EQ(result.winner, first + 1);
  device->problem = "cannot open it";
  report = tuneWith(0);
  EXPECT_EQ(report.kernels[0].noVendor, "cannot open it");
  EXPECT_EQ(report.kernels[0].result.winner, 1u);
  EXPECT_NE(toText(report).find(
                "the vendor's library did not compete: cannot open it"),
            std::string::npos);
}

// On data on which sums are exact its results are the kernels', bit for bit,
// and NaN goes through as they have it.
TEST_F(VendorTest, EpiloguesCompete) {
  device->dropsNaN = 1;
  TuneReport report = tuneWith(0, true, {}, kEpilogue);
  ASSERT_EQ(report.kernels.size(), 1u);
  const SearchResult &result = report.kernels[0].result;
  size_t first = result.candidates.size() - 8;
  EXPECT_NE(result.candidates[first].dropped.find("expected nan, found 0"),
            std::string::npos)
      << toText(report);
  EXPECT_EQ(result.winner, first + 1) << toText(report);
  driver::Compilation with = compile(kEpilogue, chooserOf());
  const auto &launch = std::get<runtime::Launch>(with.program.steps[0]);
  ASSERT_TRUE(launch.vendor);
  EXPECT_EQ(launch.vendor->product.addend->argument, 2u);
  EXPECT_EQ(launch.vendor->product.bias, 3u);
}

TEST_F(VendorTest, IsNotForExactNorInvariantNorOtherSizes) {
  tuneWith(0);
  auto hasCall = [&](const driver::CompileOptions &options) {
    driver::Compilation result = compile(kPlain, chooserOf(), options);
    return llvm::any_of(result.program.steps, [](const runtime::Step &step) {
      const auto *launch = std::get_if<runtime::Launch>(&step);
      return launch && launch->vendor;
    });
  };
  EXPECT_TRUE(hasCall({}));
  driver::CompileOptions exact;
  exact.numerics = NumericsMode::Exact;
  EXPECT_FALSE(hasCall(exact));
  driver::CompileOptions invariant;
  invariant.batchInvariant = true;
  EXPECT_FALSE(hasCall(invariant));
}
