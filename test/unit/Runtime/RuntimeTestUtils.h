//===- RuntimeTestUtils.h - helpers of the runtime tests --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_RUNTIME_RUNTIMETESTUTILS_H
#define FUSEC_TEST_UNIT_RUNTIME_RUNTIMETESTUTILS_H

#include "fusec/Runtime/Program.h"
#include <gtest/gtest.h>

namespace fusec::runtime {

/// The text of an error, empty for success.
inline std::string text(llvm::Error error) {
  return llvm::toString(std::move(error));
}

template <typename T>
std::string text(llvm::Expected<T> value) {
  return value ? std::string() : llvm::toString(value.takeError());
}

inline testing::AssertionResult contains(const std::string &whole,
                                         const std::string &part) {
  if (whole.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "'" << part << "' is not in '" << whole << "'";
}

inline BufferRef input(uint32_t i) { return {Space::Input, i}; }
inline BufferRef output(uint32_t i) { return {Space::Output, i}; }
inline BufferRef constant(uint32_t i) { return {Space::Constant, i}; }
inline BufferRef temporary(uint32_t i) { return {Space::Temporary, i}; }

/// A constant of f32 elements, all of value zero.
inline Constant zeros(const std::string &name, int64_t elements) {
  return {{name, DType::F32, {elements}},
          std::make_shared<Bytes>(static_cast<size_t>(4 * elements))};
}

/// in f32[n] -> k0 -> t0 -> k1(constant) -> out f32[n]; verifies.
inline Program twoKernelProgram(int64_t n = 100) {
  Program program;
  program.inputs = {{"in", DType::F32, {n}}};
  program.outputs = {{"out", DType::F32, {n}}};
  program.constants = {zeros("weight", n)};
  program.temporaries = {{4 * n, -1}};
  program.kernels = {{"k0", "source 0", 128, 1}, {"k1", "source 1", 256, 1}};
  uint32_t blocks = static_cast<uint32_t>((n + 127) / 128);
  program.steps = {
      Launch{0, {blocks, 1, 1}, 0, {input(0), temporary(0), ScalarArg{n, 8}}},
      Launch{1,
             {blocks, 1, 1},
             64,
             {temporary(0), constant(0), output(0), ScalarArg{-7, 4}}}};
  llvm::cantFail(planWorkspace(program));
  return program;
}

} // namespace fusec::runtime

#endif // FUSEC_TEST_UNIT_RUNTIME_RUNTIMETESTUTILS_H
