//===- CudaGraph.cpp - launches kept by the driver ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph is made node by node rather than by capturing a stream, so that
// each node is known and can be given new arguments.
//===----------------------------------------------------------------------===//
#include "CudaGraph.h"

using namespace fusec::runtime;
using cuda::Driver;
using llvm::Error;
using llvm::Expected;

static cuda::KernelNodeParams paramsOf(const LaunchRequest &request) {
  const auto &kernel = static_cast<const CudaKernel &>(*request.kernel);
  cuda::KernelNodeParams params = {};
  params.function = kernel.function;
  std::copy(request.grid.begin(), request.grid.end(), params.grid);
  params.block[0] = kernel.threads;
  params.block[1] = params.block[2] = 1;
  params.sharedBytes = request.dynamicSharedBytes;
  params.args = request.args;
  return params;
}

Error CudaGraph::add(const LaunchRequest &request) {
  cuda::KernelNodeParams params = paramsOf(request);
  cuda::GraphNode node = nullptr;
  // An edge that says how it is followed is added by itself.
  bool overlaps = overlap && request.overlaps && !nodes.empty();
  bool follows = !nodes.empty() && !overlaps;
  if (Error error =
          driver.check(driver.graphAddKernelNode(
                           &node, graph, follows ? &nodes.back() : nullptr,
                           follows, &params),
                       "cuGraphAddKernelNode"))
    return error;
  if (overlaps) {
    cuda::GraphEdge edge = {};
    edge.type = cuda::GraphEdge::kTypeProgrammatic;
    edge.fromPort = cuda::GraphEdge::kPortProgrammatic;
    if (Error error = driver.check(
            driver.graphAddDependencies(graph, &nodes.back(), &node, &edge, 1),
            "cuGraphAddDependencies"))
      return error;
  }
  nodes.push_back(node);
  auto setAttribute = [&](int id, const cuda::LaunchAttributeValue &value) {
    return driver.check(driver.graphKernelNodeSetAttribute(node, id, &value),
                        "cuGraphKernelNodeSetAttribute");
  };
  cuda::LaunchAttributeValue value = {};
  if (request.kernel->cooperative) {
    value.cooperative = 1;
    if (Error error = setAttribute(cuda::LaunchAttribute::kCooperative, value))
      return error;
  }
  if (request.kernel->cluster <= 1)
    return Error::success();
  value = {};
  value.cluster[0] = request.kernel->cluster;
  value.cluster[1] = value.cluster[2] = 1;
  return setAttribute(cuda::LaunchAttribute::kClusterDimension, value);
}

Error CudaGraph::add(const FillRequest &request) {
  cuda::MemsetNodeParams params = {};
  params.to = reinterpret_cast<cuda::DevicePointer>(request.to);
  params.value = request.value;
  params.elementBytes = 1;
  params.width = request.bytes;
  params.height = 1;
  cuda::GraphNode node = nullptr;
  if (Error error = driver.check(
          driver.graphAddMemsetNode(&node, graph,
                                    nodes.empty() ? nullptr : &nodes.back(),
                                    nodes.empty() ? 0 : 1, &params, context),
          "cuGraphAddMemsetNode"))
    return error;
  nodes.push_back(node);
  return Error::success();
}

Expected<std::unique_ptr<LaunchGraph>>
CudaGraph::create(const Driver &driver, cuda::Context context,
                  llvm::ArrayRef<GraphStep> steps, bool overlap) {
  if (!driver.hasGraphs)
    return nullptr;
  std::unique_ptr<CudaGraph> result(new CudaGraph(driver, context, overlap));
  if (Error error =
          driver.check(driver.graphCreate(&result->graph, 0), "cuGraphCreate"))
    return std::move(error);
  // `add` takes the address of the last node while it makes the next.
  result->nodes.reserve(steps.size());
  for (const GraphStep &step : steps)
    if (Error error = std::visit(
            [&](const auto &request) { return result->add(request); }, step))
      return std::move(error);
  if (Error error = driver.check(
          driver.graphInstantiate(&result->executable, result->graph, 0),
          "cuGraphInstantiateWithFlags"))
    return std::move(error);
  return std::unique_ptr<LaunchGraph>(std::move(result));
}

CudaGraph::~CudaGraph() {
  CurrentContext current(driver, context);
  if (executable)
    driver.graphExecDestroy(executable);
  if (graph)
    driver.graphDestroy(graph);
}

Error CudaGraph::update(size_t step, const LaunchRequest &request) {
  cuda::KernelNodeParams params = paramsOf(request);
  return driver.check(
      driver.graphExecKernelNodeSetParams(executable, nodes[step], &params),
      "cuGraphExecKernelNodeSetParams");
}

Error CudaGraph::replay(Stream stream) {
  return driver.check(driver.graphLaunch(executable, stream), "cuGraphLaunch");
}
