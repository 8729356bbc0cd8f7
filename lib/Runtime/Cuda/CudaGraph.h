//===- CudaGraph.h - launches kept by the driver ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_CUDAGRAPH_H
#define FUSEC_LIB_RUNTIME_CUDA_CUDAGRAPH_H

#include "CudaModule.h"

namespace fusec::runtime {

/// An instantiated CUDA graph: a chain of one node per step. Used by one
/// thread at a time; the context is current in every call but the destructor.
class CudaGraph : public LaunchGraph {
public:
  /// Null where the driver has not all functions for it.
  /// With `overlap` launches that may begin early do so.
  static llvm::Expected<std::unique_ptr<LaunchGraph>>
  create(const cuda::Driver &driver, cuda::Context context,
         llvm::ArrayRef<GraphStep> steps, bool overlap);
  ~CudaGraph() override;
  /// Replaces kernel and arguments of a launch for later replays.
  llvm::Error update(size_t step, const LaunchRequest &request);
  llvm::Error replay(Stream stream);

private:
  CudaGraph(const cuda::Driver &driver, cuda::Context context, bool overlap)
      : driver(driver), context(context), overlap(overlap) {}
  llvm::Error add(const LaunchRequest &request);
  llvm::Error add(const FillRequest &request);

  const cuda::Driver &driver;
  cuda::Context context;
  bool overlap;
  cuda::Graph graph = nullptr;
  cuda::GraphExec executable = nullptr;
  std::vector<cuda::GraphNode> nodes;
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_CUDAGRAPH_H
