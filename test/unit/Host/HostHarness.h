//===- HostHarness.h - run graphs on the host target ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_HOST_HOSTHARNESS_H
#define FUSEC_TEST_UNIT_HOST_HOSTHARNESS_H

#include "fusec/Runtime/Executable.h"
#include "fusec/Support/HostTensor.h"
#include "fusec/Target/Host/CompileForHost.h"

namespace fusec::host::test {

/// One device for all tests, with at least three threads.
std::shared_ptr<runtime::Device> device();

/// Compiles a copy of `module` and runs it.
llvm::Expected<std::vector<HostTensor>>
runOnHost(mlir::ModuleOp module, llvm::ArrayRef<HostTensor> inputs,
          const CompileOptions &options = {});

/// Runs a compiled program.
llvm::Expected<std::vector<HostTensor>>
runProgram(runtime::Program program, llvm::ArrayRef<HostTensor> inputs,
           std::shared_ptr<runtime::Device> device = test::device());

} // namespace fusec::host::test

#endif // FUSEC_TEST_UNIT_HOST_HOSTHARNESS_H
