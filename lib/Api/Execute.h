//===- Execute.h - running executables through the C API --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_EXECUTE_H
#define FUSEC_LIB_API_EXECUTE_H

#include "Objects.h"

struct fusec_execution_context {
  std::shared_ptr<const fusec::api::ExecutableData> data;
  std::unique_ptr<fusec::runtime::ExecutionContext> context;
  /// Room for the pointers of DLPack tensors, so that a run allocates nothing.
  std::vector<void *> inputs, outputs;
};

namespace fusec::api {

/// Whether the caller's lists have one entry per tensor.
fusec_error *checkCounts(const ExecutableData &data, const void *inputs,
                         size_t numInputs, const void *outputs,
                         size_t numOutputs);

/// The address of a DLPack tensor's first element if the tensor is what `spec`
/// and the device need; the error names the tensor.
fusec_error *readTensor(const DeviceData &device,
                        const runtime::TensorSpec &spec, const char *kind,
                        const DLTensor *tensor, void *&pointer);

} // namespace fusec::api

#endif // FUSEC_LIB_API_EXECUTE_H
