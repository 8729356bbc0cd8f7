//===- HostHarness.cpp - run graphs on the host target --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Also stands in for the element interpreter of the evaluator's tests, so that
// their cases, every op on special values of every type, run on the host too.
//===----------------------------------------------------------------------===//
#include "HostHarness.h"
#include "../Reference/ElementInterpreter.h"
#include "../Reference/ReferenceTestUtils.h"
#include "fusec/Runtime/Host/HostDevice.h"
#include "gtest/gtest.h"

#include <cstring>
#include <map>
#include <thread>

using namespace fusec;
using namespace fusec::host;
using llvm::Expected;

std::shared_ptr<runtime::Device> host::test::device() {
  static std::shared_ptr<runtime::Device> shared = runtime::createHostDevice(
      {std::max(3u, std::thread::hardware_concurrency())});
  return shared;
}

Expected<std::vector<HostTensor>>
host::test::runProgram(runtime::Program program,
                       llvm::ArrayRef<HostTensor> inputs,
                       std::shared_ptr<runtime::Device> device) {
  std::vector<runtime::TensorSpec> specs = program.outputs;
  auto executable = runtime::Executable::create(std::move(program), device);
  if (!executable)
    return executable.takeError();
  std::vector<llvm::ArrayRef<std::byte>> bytes;
  for (const HostTensor &input : inputs)
    bytes.emplace_back(input.data(), input.bytes->size());
  auto outputs = runtime::runWithHostData(*executable, bytes);
  if (!outputs)
    return outputs.takeError();
  std::vector<HostTensor> results;
  for (auto [spec, data] : llvm::zip_equal(specs, *outputs)) {
    Expected<HostTensor> result = HostTensor::create(spec.dtype, spec.shape);
    if (!result)
      return result.takeError();
    if (!data.empty())
      std::memcpy(result->data(), data.data(), data.size());
    results.push_back(std::move(*result));
  }
  return results;
}

Expected<std::vector<HostTensor>>
host::test::runOnHost(mlir::ModuleOp module, llvm::ArrayRef<HostTensor> inputs,
                      const CompileOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Expected<runtime::Program> program = compileForHost(*copy, options);
  if (!program)
    return program.takeError();
  return runProgram(std::move(*program), inputs);
}

Expected<std::vector<HostTensor>>
reference::test::interpretElements(mlir::Operation *op,
                                   llvm::ArrayRef<HostTensor> operands) {
  return host::test::runOnHost(op->getParentOfType<mlir::ModuleOp>(), operands);
}

Expected<HostTensor>
reference::test::interpretMerged(mlir::Operation *op,
                                 llvm::ArrayRef<HostTensor> operands,
                                 llvm::ArrayRef<int64_t>) {
  // The host has one order, so each op and operand need to run only once.
  static std::map<std::string, HostTensor> known;
  std::string key;
  llvm::raw_string_ostream(key) << *op;
  for (const HostTensor &operand : operands)
    key.append(reinterpret_cast<const char *>(operand.data()),
               operand.bytes->size());
  auto [entry, isNew] = known.try_emplace(key);
  if (isNew) {
    auto results = interpretElements(op, operands);
    if (!results)
      return results.takeError();
    entry->second = results->front();
  }
  return entry->second;
}

void reference::test::expectElementsMatch(mlir::Operation *op,
                                          llvm::ArrayRef<HostTensor> operands,
                                          int64_t ulps) {
  auto expected = evaluateOp(op, operands);
  ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
  auto module = op->getParentOfType<mlir::ModuleOp>();
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  for (bool vectorize : {true, false}) {
    CompileOptions options;
    options.vectorize = vectorize;
    auto actual = host::test::runOnHost(module, operands, options);
    ASSERT_TRUE(bool(actual))
        << text << ": " << llvm::toString(actual.takeError());
    for (auto [got, want] : llvm::zip_equal(*actual, *expected))
      expectSame(got, want, text + (vectorize ? " (vectors)" : " (scalars)"),
                 ulps);
  }
}
