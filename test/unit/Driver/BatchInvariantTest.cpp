//===- BatchInvariantTest.cpp - items in batches of all sizes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Driver/BatchInvariant.h"
#include "Differential.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Runtime/Host/HostDevice.h"
#include "fusec/Target/Host/CompileForHost.h"
#include "mlir/Parser/Parser.h"

using namespace fusec;
using namespace fusec::test;
using Output = std::vector<std::byte>;

namespace {

/// Runs a graph whose text has BATCH where the outermost size stands.
class BatchInvariant : public ::testing::TestWithParam<bool> {
protected:
  BatchInvariant() {
    mlir::DialectRegistry registry;
    driver::registerDialects(registry);
    host::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(std::string text, int64_t batch) {
    for (size_t at; (at = text.find("BATCH")) != std::string::npos;)
      text.replace(at, 5, std::to_string(batch));
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  static bool onHost() { return GetParam(); }

  llvm::Expected<runtime::Program> compile(mlir::ModuleOp module) {
    driver::CompileOptions options;
    options.batchInvariant = true;
    if (!onHost()) {
      auto compiled = driver::compile(module, options);
      if (!compiled)
        return compiled.takeError();
      return std::move(compiled->program);
    }
    options.horizontal = false;
    auto decisions = driver::planGraphInvariant(module, options);
    if (!decisions)
      return decisions.takeError();
    host::CompileOptions hostOptions;
    hostOptions.batchInvariant = true;
    return host::compileForHost(module, hostOptions);
  }

  /// The outputs for the first items of `inputs`.
  std::vector<Output> run(const std::string &text, int64_t batch,
                          llvm::ArrayRef<HostTensor> inputs) {
    static std::shared_ptr<runtime::Device> emulator =
        runtime::createEmulatorDevice();
    static std::shared_ptr<runtime::Device> host = runtime::createHostDevice();
    auto module = parse(text, batch);
    auto entry = driver::findEntry(*module);
    std::vector<llvm::ArrayRef<std::byte>> bytes;
    for (auto [type, input] : llvm::zip(entry->getArgumentTypes(), inputs)) {
      auto tensor = llvm::cast<mlir::RankedTensorType>(type);
      llvm::ArrayRef<std::byte> whole = *input.bytes;
      bytes.push_back(whole.take_front(tensor.getNumElements() *
                                       tensor.getElementTypeBitWidth() / 8));
    }
    auto program = compile(*module);
    if (!program) {
      ADD_FAILURE() << batch << ": " << llvm::toString(program.takeError());
      return {};
    }
    auto executable =
        runtime::Executable::create(*program, onHost() ? host : emulator);
    if (!executable) {
      ADD_FAILURE() << batch << ": " << llvm::toString(executable.takeError());
      return {};
    }
    auto outputs = runtime::runWithHostData(*executable, bytes);
    if (!outputs) {
      ADD_FAILURE() << batch << ": " << llvm::toString(outputs.takeError());
      return {};
    }
    return std::move(*outputs);
  }

  /// Expects the items of all `batches` to have the bits that they have in the
  /// last one.
  void check(const std::string &text, llvm::ArrayRef<int64_t> batches) {
    auto module = parse(text, batches.back());
    ASSERT_TRUE(module) << text;
    std::vector<HostTensor> inputs;
    for (mlir::Type type : driver::findEntry(*module)->getArgumentTypes())
      inputs.push_back(randomTensor(llvm::cast<mlir::RankedTensorType>(type),
                                    {}, inputs.size()));
    std::vector<Output> all = run(text, batches.back(), inputs);
    ASSERT_FALSE(all.empty());
    for (int64_t batch : batches.drop_back()) {
      std::vector<Output> some = run(text, batch, inputs);
      ASSERT_EQ(some.size(), all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i].size() * batch, some[i].size() * batches.back());
        EXPECT_TRUE(std::equal(some[i].begin(), some[i].end(), all[i].begin()))
            << "output " << i << " in a batch of " << batch << "\n"
            << text;
      }
    }
  }

  mlir::MLIRContext context;
};

} // namespace

TEST_P(BatchInvariant, RowSums) {
  for (const char *n : {"96", "1000", "70001"})
    check(std::string("func.func @f(%x: tensor<BATCHx") + n +
              "xf32>) -> tensor<BATCHxf32> {\n  %0 = graph.reduce sum %x [1] : "
              "tensor<BATCHx" +
              n +
              "xf32> -> tensor<BATCHxf32>\n  return %0 : "
              "tensor<BATCHxf32>\n}",
          {1, 2, 7, 40});
}

TEST_P(BatchInvariant, Softmax) {
  for (const char *n : {"257", "9000"})
    check(std::string("func.func @f(%x: tensor<BATCHx") + n +
              "xf32>) -> tensor<BATCHx" + n +
              "xf32> {\n  %0 = graph.softmax %x [1] : tensor<BATCHx" + n +
              "xf32>\n  return %0 : tensor<BATCHx" + n + "xf32>\n}",
          {1, 3, 33});
}

TEST_P(BatchInvariant, MiddleAxis) {
  check(R"(func.func @f(%x: tensor<BATCHx300x40xf32>) -> tensor<BATCHx40xf32> {
  %0 = graph.reduce sum %x [1] : tensor<BATCHx300x40xf32> -> tensor<BATCHx40xf32>
  return %0 : tensor<BATCHx40xf32>
})",
        {1, 2, 30});
}

TEST_P(BatchInvariant, Norms) {
  check(
      R"(func.func @f(%x: tensor<BATCHx768xbf16>, %r: tensor<BATCHx768xbf16>, %s: tensor<768xbf16>, %b: tensor<768xbf16>) -> (tensor<BATCHx768xbf16>, tensor<BATCHx768xbf16>) {
  %0 = graph.add %x, %r : tensor<BATCHx768xbf16>
  %1 = graph.layer_norm %0, %s, %b axis = 1 epsilon = 1.0e-5 : tensor<BATCHx768xbf16>, tensor<768xbf16>, tensor<768xbf16>
  %2 = graph.rms_norm %1, %s axis = 1 epsilon = 1.0e-5 : tensor<BATCHx768xbf16>, tensor<768xbf16>
  return %1, %2 : tensor<BATCHx768xbf16>, tensor<BATCHx768xbf16>
})",
      {1, 5, 64, 130});
}

TEST_P(BatchInvariant, Products) {
  for (const char *type : {"f32", "bf16"}) {
    std::string t(type);
    check("func.func @f(%x: tensor<BATCHx512x" + t + ">, %w: tensor<512x72x" +
              t + ">) -> tensor<BATCHx72x" + t +
              "> {\n  %0 = graph.contract %x, %w batch [] x [] contract [1] x "
              "[0] : tensor<BATCHx512x" +
              t + ">, tensor<512x72x" + t + "> -> tensor<BATCHx72x" + t +
              ">\n  return %0 : tensor<BATCHx72x" + t + ">\n}",
          {1, 2, 7, 64, 300});
  }
}

TEST_P(BatchInvariant, LongSums) {
  // Without the option its terms are divided for few rows.
  check(
      R"(func.func @f(%x: tensor<BATCHx4096xbf16>, %w: tensor<4096x96xbf16>) -> tensor<BATCHx96xf32> {
  %c = graph.cast %x : tensor<BATCHx4096xbf16> -> tensor<BATCHx4096xf32>
  %0 = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<BATCHx4096xbf16>, tensor<4096x96xbf16> -> tensor<BATCHx96xbf16>
  %1 = graph.cast %0 : tensor<BATCHx96xbf16> -> tensor<BATCHx96xf32>
  return %1 : tensor<BATCHx96xf32>
})",
      {1, 70, 200});
}

TEST_P(BatchInvariant, Attention) {
  check(
      R"(func.func @f(%x: tensor<BATCHx16x32xf32>, %w: tensor<32x32xf32>) -> tensor<BATCHx16x32xf32> {
  %0 = graph.contract %x, %w batch [] x [] contract [2] x [0] : tensor<BATCHx16x32xf32>, tensor<32x32xf32> -> tensor<BATCHx16x32xf32>
  %1 = graph.reshape %0 : tensor<BATCHx16x32xf32> -> tensor<BATCHx16x4x8xf32>
  %2 = graph.transpose %1 [0, 2, 1, 3] : tensor<BATCHx16x4x8xf32> -> tensor<BATCHx4x16x8xf32>
  %3 = graph.contract %2, %2 batch [0, 1] x [0, 1] contract [3] x [3] : tensor<BATCHx4x16x8xf32>, tensor<BATCHx4x16x8xf32> -> tensor<BATCHx4x16x16xf32>
  %4 = graph.softmax %3 [3] : tensor<BATCHx4x16x16xf32>
  %5 = graph.contract %4, %2 batch [0, 1] x [0, 1] contract [3] x [2] : tensor<BATCHx4x16x16xf32>, tensor<BATCHx4x16x8xf32> -> tensor<BATCHx4x16x8xf32>
  %6 = graph.transpose %5 [0, 2, 1, 3] : tensor<BATCHx4x16x8xf32> -> tensor<BATCHx16x4x8xf32>
  %7 = graph.reshape %6 : tensor<BATCHx16x4x8xf32> -> tensor<BATCHx16x32xf32>
  %8 = graph.add %7, %x : tensor<BATCHx16x32xf32>
  return %8 : tensor<BATCHx16x32xf32>
})",
      {1, 2, 9});
}

INSTANTIATE_TEST_SUITE_P(Targets, BatchInvariant, ::testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "Host" : "Emulator";
                         });
