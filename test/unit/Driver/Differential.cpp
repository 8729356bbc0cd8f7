//===- Differential.cpp - one graph, several ways -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "fusec/Reference/Evaluate.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Runtime/Host/HostDevice.h"
#include "fusec/Target/Host/CompileForHost.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace fusec;
using namespace fusec::test;

HostTensor fusec::test::randomTensor(RankedTensorType type,
                                     const DifferentialOptions &options,
                                     uint64_t stream) {
  DType dtype = *graph::toDType(type.getElementType());
  HostTensor tensor =
      llvm::cantFail(HostTensor::create(dtype, type.getShape()));
  std::mt19937_64 random(options.seed * 1000003 + stream);
  static const double kSpecial[] = {NAN,   INFINITY, -INFINITY, 0.0,     -0.0,
                                    1e-40, -1e-40,   1.0,       65504.0, -3.5};
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i) {
    double unit = double(random() >> 11) * 0x1p-53;
    if (dtype == DType::Bool)
      tensor.setI64(i, random() & 1);
    else if (!isFloat(dtype))
      tensor.setI64(i, int64_t(unit * double(options.integerLimit)));
    else if (options.special && random() % 4 == 0)
      tensor.setF64(i, kSpecial[random() % std::size(kSpecial)]);
    else
      tensor.setF64(i, unit * 4 - 2);
  }
  return tensor;
}

static void compare(const HostTensor &expected, llvm::ArrayRef<std::byte> bytes,
                    const Tolerance &tolerance, llvm::StringRef what) {
  HostTensor actual = expected.clone();
  ASSERT_EQ(actual.bytes->size(), bytes.size()) << what.str();
  std::copy(bytes.begin(), bytes.end(), actual.data());
  int failures = 0;
  for (int64_t i = 0, e = expected.elements(); i < e && failures < 5; ++i) {
    bool equal;
    double want = expected.getF64(i), got = actual.getF64(i);
    if (!isFloat(expected.dtype))
      equal = expected.getBits(i) == actual.getBits(i);
    else if (std::isnan(want) || std::isinf(want))
      equal = std::isnan(want) ? std::isnan(got) : want == got;
    else if (want == 0 && got == 0)
      equal = std::signbit(want) == std::signbit(got);
    else
      equal = std::fabs(got - want) <=
              tolerance.relative * std::fabs(want) + tolerance.absolute;
    if (!equal) {
      ++failures;
      ADD_FAILURE() << what.str() << ": element " << i << " is " << got
                    << ", expected " << want;
    }
  }
}

static std::vector<std::vector<std::byte>>
runOn(std::shared_ptr<runtime::Device> device, const runtime::Program &program,
      llvm::ArrayRef<HostTensor> inputs) {
  auto executable = runtime::Executable::create(program, device);
  if (!executable) {
    std::string text;
    for (const runtime::Kernel &kernel : program.kernels)
      text += kernel.source;
    ADD_FAILURE() << llvm::toString(executable.takeError()) << "\n" << text;
    return {};
  }
  std::vector<llvm::ArrayRef<std::byte>> bytes;
  for (const HostTensor &input : inputs)
    bytes.push_back(*input.bytes);
  auto outputs = runtime::runWithHostData(*executable, bytes);
  if (!outputs) {
    std::string text;
    for (const runtime::Kernel &kernel : program.kernels)
      text += kernel.source;
    ADD_FAILURE() << llvm::toString(outputs.takeError()) << "\n" << text;
    return {};
  }
  return std::move(*outputs);
}

/// Plans the graph and runs it as host code.
static std::vector<std::vector<std::byte>>
runOnHost(ModuleOp module, const driver::CompileOptions &options,
          llvm::ArrayRef<HostTensor> inputs) {
  static std::shared_ptr<runtime::Device> device = runtime::createHostDevice();
  auto fail = [](llvm::Error error) {
    ADD_FAILURE() << "host: " << llvm::toString(std::move(error));
    return std::vector<std::vector<std::byte>>();
  };
  if (llvm::Error error = driver::simplifyGraph(module))
    return fail(std::move(error));
  auto decisions = driver::planGraph(module, options);
  if (!decisions)
    return fail(decisions.takeError());
  host::CompileOptions hostOptions;
  hostOptions.exact = options.numerics == NumericsMode::Exact;
  auto program = host::compileForHost(module, hostOptions);
  if (!program)
    return fail(program.takeError());
  return runOn(device, *program, inputs);
}

void fusec::test::checkGraph(llvm::StringRef text,
                             const DifferentialOptions &options) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  host::registerDialects(registry);
  MLIRContext context(registry);
  auto parse = [&] { return parseSourceString<ModuleOp>(text, &context); };
  OwningOpRef<ModuleOp> module = parse();
  ASSERT_TRUE(module) << text.str();
  auto entry = driver::findEntry(*module);
  ASSERT_TRUE(bool(entry));
  std::vector<HostTensor> inputs;
  for (Type type : entry->getArgumentTypes())
    inputs.push_back(
        randomTensor(cast<RankedTensorType>(type), options, inputs.size()));
  auto expected = reference::evaluate(*entry, inputs);
  if (!expected) {
    ADD_FAILURE() << llvm::toString(expected.takeError());
    return;
  }
  if (options.host) {
    OwningOpRef<ModuleOp> copy = parse();
    driver::CompileOptions compileOptions;
    compileOptions.numerics = options.numerics;
    auto outputs = runOnHost(*copy, compileOptions, inputs);
    ASSERT_EQ(outputs.size(), expected->size()) << text.str();
    for (auto [i, output] : llvm::enumerate(outputs))
      compare((*expected)[i], output, options.tolerance,
              "host, output " + std::to_string(i));
  }
  static std::shared_ptr<runtime::Device> emulator =
      runtime::createEmulatorDevice();
  for (bool fuse : {true, false}) {
    OwningOpRef<ModuleOp> copy = parse();
    driver::CompileOptions compileOptions;
    compileOptions.fuse = fuse;
    compileOptions.numerics = options.numerics;
    if (options.target)
      compileOptions.target = *options.target;
    if (fuse)
      compileOptions.chooser = options.chooser;
    auto compiled = driver::compile(*copy, compileOptions);
    if (!compiled) {
      ADD_FAILURE() << (fuse ? "fused: " : "unfused: ")
                    << llvm::toString(compiled.takeError());
      continue;
    }
    if (fuse && options.kernels)
      EXPECT_EQ(compiled->kernels.size(), *options.kernels) << text.str();
    auto outputs = runOn(emulator, compiled->program, inputs);
    ASSERT_EQ(outputs.size(), expected->size()) << text.str();
    if (fuse && options.sameBitsApart) {
      OwningOpRef<ModuleOp> again = parse();
      compileOptions.horizontal = false;
      auto apart = driver::compile(*again, compileOptions);
      ASSERT_TRUE(bool(apart)) << llvm::toString(apart.takeError());
      EXPECT_TRUE(runOn(emulator, apart->program, inputs) == outputs)
          << "other bits without shared launches and products\n"
          << text.str();
    }
    for (auto [i, output] : llvm::enumerate(outputs))
      compare((*expected)[i], output, options.tolerance,
              (fuse ? "fused, output " : "unfused, output ") +
                  std::to_string(i));
    if (::testing::Test::HasFailure()) {
      std::string source;
      for (const runtime::Kernel &kernel : compiled->program.kernels)
        source += kernel.source;
      ADD_FAILURE() << text.str() << "\n" << source;
      return;
    }
  }
}
