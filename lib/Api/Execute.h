//===- Execute.h - running executables through the C API --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_EXECUTE_H
#define FUSEC_LIB_API_EXECUTE_H

#include "Objects.h"

struct fusec_execution_context {
  std::shared_ptr<const fusec::api::ExecutableData> data;
  std::unique_ptr<fusec::runtime::ExecutionContext> context;
  /// Room for DLPack tensors, so that a run allocates nothing.
  std::vector<fusec::runtime::TensorView> inputs;
  std::vector<void *> outputs;
};

namespace fusec::api {

/// Whether the caller's lists have one entry per tensor.
fusec_error *checkCounts(const ExecutableData &data, const void *inputs,
                         size_t numInputs, const void *outputs,
                         size_t numOutputs);

/// "[2, 3]".
std::string describeShape(llvm::ArrayRef<int64_t> shape);

/// A DLPack tensor's first element and strides (none if it is row-major) if the
/// tensor is what `spec` and the device need; the error names the tensor. The
/// strides are the tensor's own.
fusec_error *readTensor(const DeviceData &device,
                        const runtime::TensorSpec &spec, const char *kind,
                        const DLTensor *tensor, runtime::TensorView &view);

} // namespace fusec::api

#endif // FUSEC_LIB_API_EXECUTE_H
