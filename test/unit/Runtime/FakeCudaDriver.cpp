//===- FakeCudaDriver.cpp - a libcuda.so without a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built as a shared library that the runtime opens in place of the driver.
// Device memory is host memory; launches are recorded and nothing is run. The
// test reads and steers it through `fakeCuda()`.
//===----------------------------------------------------------------------===//
#include "FakeCudaDriver.h"

#include <cstdlib>
#include <cstring>
#include <new>

#define FAKE extern "C" __attribute__((visibility("default")))

static FakeCuda state;
static int contextObjects[4];
static thread_local std::vector<void *> contexts;

FAKE FakeCuda *fakeCuda() { return &state; }
FAKE std::vector<void *> *fakeContexts() { return &contexts; }
FAKE void fakeReset() {
  state.~FakeCuda();
  new (&state) FakeCuda();
}

// The next call of the named function fails.
static int outcome(const char *function) {
  if (state.failing != function)
    return 0;
  state.failing.clear();
  return 719;
}

FAKE int cuInit(unsigned) { return 0; }
FAKE int cuDriverGetVersion(int *version) {
  *version = 99000; // accepts any NVRTC
  return 0;
}
FAKE int cuGetErrorName(int, const char **name) {
  *name = "CUDA_ERROR_FAKE";
  return 0;
}
FAKE int cuGetErrorString(int, const char **text) {
  *text = "fake failure";
  return 0;
}
FAKE int cuDeviceGetCount(int *count) {
  *count = state.deviceCount;
  return 0;
}
FAKE int cuDeviceGet(int *id, int ordinal) {
  *id = ordinal;
  return ordinal < state.deviceCount ? 0 : 101;
}
FAKE int cuDeviceGetName(char *name, int length, int) {
  std::strncpy(name, "fake GPU", length);
  return 0;
}
FAKE int cuDeviceGetAttribute(int *value, int attribute, int) {
  std::lock_guard<std::mutex> lock(state.mutex);
  if (auto it = state.deviceAttributes.find(attribute);
      it != state.deviceAttributes.end()) {
    *value = it->second;
    return 0;
  }
  switch (attribute) {
  case 1: // threads per block
    *value = 1024;
    break;
  case 16: // multiprocessors
    *value = 132;
    break;
  case 75: // compute capability 9.0
    *value = 9;
    break;
  case 97: // shared memory per block
    *value = 232448;
    break;
  case 5: // grid
  case 6:
  case 7:
    *value = 65535;
    break;
  case 120: // clusters
    *value = 1;
    break;
  default:
    *value = 0;
  }
  return 0;
}
FAKE int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = 1 << 30;
  return 0;
}
FAKE int cuDevicePrimaryCtxRetain(void **context, int id) {
  ++state.retained;
  state.ordinal = id;
  *context = &contextObjects[id];
  return 0;
}
FAKE int cuDevicePrimaryCtxRelease_v2(int) {
  --state.retained;
  return 0;
}
FAKE int cuCtxGetCurrent(void **context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return 0;
}
FAKE int cuCtxPushCurrent_v2(void *context) {
  std::lock_guard<std::mutex> lock(state.mutex);
  ++state.pushes;
  contexts.push_back(context);
  return 0;
}
FAKE int cuCtxPopCurrent_v2(void **context) {
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}

// Everything below needs our context to be current.
static int checked(const char *function) {
  bool ours = !contexts.empty() && contexts.back() >= contextObjects &&
              contexts.back() < contextObjects + 4;
  return ours ? outcome(function) : 201;
}
// As `checked`, for what may not be done while any stream is captured.
static int checkedOutsideCapture(const char *function) {
  if (!state.capturing.empty()) {
    state.illegal.push_back(function);
    return 900;
  }
  return checked(function);
}
#define LOCK std::lock_guard<std::mutex> lock(state.mutex)

FAKE int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  LOCK;
  if (int code = checkedOutsideCapture("cuMemAlloc"))
    return code;
  ++state.allocations;
  *address = reinterpret_cast<uint64_t>(
      std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}
FAKE int cuMemFree_v2(uint64_t address) {
  LOCK;
  --state.allocations;
  std::free(reinterpret_cast<void *>(address));
  return checkedOutsideCapture("cuMemFree");
}
FAKE int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                              void *) {
  LOCK;
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return checked("cuMemcpyHtoDAsync");
}
FAKE int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *) {
  LOCK;
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return checked("cuMemcpyDtoHAsync");
}
FAKE int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                              void *) {
  LOCK;
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
              bytes);
  return checked("cuMemcpyDtoDAsync");
}
FAKE int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                         void *) {
  LOCK;
  std::memset(reinterpret_cast<void *>(to), value, bytes);
  return checked("cuMemsetD8Async");
}
FAKE int cuModuleLoadData(void **module, const void *image) {
  LOCK;
  if (int code = checkedOutsideCapture("cuModuleLoadData"))
    return code;
  if (std::memcmp(image, "\177ELF", 4) != 0)
    return 200;
  *module = new int(++state.modulesLoaded);
  ++state.modules;
  return 0;
}
FAKE int cuModuleUnload(void *module) {
  LOCK;
  delete static_cast<int *>(module);
  --state.modules;
  return checkedOutsideCapture("cuModuleUnload");
}
FAKE int cuModuleGetFunction(void **function, void *, const char *name) {
  LOCK;
  state.functions.push_back(std::make_unique<FakeFunction>());
  state.functions.back()->name = name;
  *function = state.functions.back().get();
  return checked("cuModuleGetFunction");
}
FAKE int cuFuncLoad(void *function) {
  LOCK;
  static_cast<FakeFunction *>(function)->loaded = true;
  return checkedOutsideCapture("cuFuncLoad");
}
FAKE int cuFuncGetAttribute(int *value, int attribute, void *) {
  LOCK;
  *value = attribute == 1 ? 400 : attribute == 4 ? 77 : 0;
  return checked("cuFuncGetAttribute");
}
FAKE int cuFuncSetAttribute(void *function, int attribute, int value) {
  LOCK;
  static_cast<FakeFunction *>(function)->attributes[attribute] = value;
  return checked("cuFuncSetAttribute");
}

static int record(void *function, const unsigned *grid, unsigned block,
                  unsigned shared, unsigned cluster, void *stream,
                  void **args) {
  FakeLaunch launch{static_cast<FakeFunction *>(function)->name,
                    {grid[0], grid[1], grid[2]},
                    block,
                    shared,
                    cluster,
                    stream,
                    {}};
  for (size_t i = 0; i < state.argCount; ++i)
    launch.args.push_back(*static_cast<uint64_t *>(args[i]));
  state.launches.push_back(launch);
  return checked("cuLaunchKernel");
}
FAKE int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z,
                        unsigned block, unsigned, unsigned, unsigned shared,
                        void *stream, void **args, void **) {
  LOCK;
  unsigned grid[3] = {x, y, z};
  return record(function, grid, block, shared, 0, stream, args);
}
FAKE int cuLaunchKernelEx(const fusec::runtime::cuda::LaunchConfig *config,
                          void *function, void **args, void **) {
  LOCK;
  unsigned cluster = 0;
  bool cooperative = false, overlaps = false;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    if (config->attributes[i].id == 4)
      cluster = config->attributes[i].cluster[0];
    if (config->attributes[i].id == 2)
      cooperative = config->attributes[i].cooperative;
    if (config->attributes[i].id == 6)
      overlaps = config->attributes[i].programmatic;
  }
  int code = record(function, config->grid, config->block[0],
                    config->sharedBytes, cluster, config->stream, args);
  state.launches.back().cooperative = cooperative;
  state.launches.back().overlaps = overlaps;
  return code;
}
// The map holds the numbers it was made from, as far as they fit.
FAKE int cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank,
                                void *address, const uint64_t *dims,
                                const uint64_t *strides, const unsigned *box,
                                const unsigned *steps, int interleave,
                                int swizzle, int promotion, int fill) {
  LOCK;
  ++state.tensorMaps;
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return 1;
  map[0] = reinterpret_cast<uint64_t>(address);
  map[1] = uint64_t(type) | uint64_t(rank) << 8 | uint64_t(interleave) << 16 |
           uint64_t(swizzle) << 24 | uint64_t(promotion) << 32 |
           uint64_t(fill) << 40;
  map[2] = dims[0] | dims[rank - 1] << 32;
  map[3] = rank > 1 ? strides[rank - 2] : 0;
  map[4] = box[0] | uint64_t(box[rank - 1]) << 32;
  map[5] = steps[0] | uint64_t(steps[rank - 1]) << 32;
  return checked("cuTensorMapEncodeTiled");
}
FAKE int cuStreamCreate(void **stream, unsigned flags) {
  LOCK;
  *stream = new unsigned(flags);
  ++state.streams;
  return checked("cuStreamCreate");
}
FAKE int cuStreamDestroy_v2(void *stream) {
  LOCK;
  delete static_cast<unsigned *>(stream);
  --state.streams;
  return checked("cuStreamDestroy");
}
FAKE int cuStreamSynchronize(void *) {
  LOCK;
  ++state.synchronizations;
  return checkedOutsideCapture("cuStreamSynchronize");
}
FAKE int cuEventCreate(void **event, unsigned) {
  LOCK;
  *event = new int(0);
  return checked("cuEventCreate");
}
FAKE int cuEventDestroy_v2(void *event) {
  LOCK;
  delete static_cast<int *>(event);
  return checked("cuEventDestroy");
}
FAKE int cuEventRecord(void *, void *) {
  LOCK;
  return checked("cuEventRecord");
}
FAKE int cuEventSynchronize(void *) {
  LOCK;
  return checkedOutsideCapture("cuEventSynchronize");
}
FAKE int cuEventElapsedTime(float *milliseconds, void *, void *) {
  LOCK;
  *milliseconds = 1.5f;
  return checked("cuEventElapsedTime");
}

//===----------------------------------------------------------------------===//
// Graphs: a list of nodes; launching one records its launches.
//===----------------------------------------------------------------------===//

namespace {
struct Node {
  const Node *before = nullptr;
  bool isLaunch = true;
  FakeLaunch launch;
  fusec::runtime::cuda::MemsetNodeParams fill;
};
struct FakeGraph {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct FakeExec {
  FakeGraph *graph; // only its nodes' identities are used
  std::vector<Node> nodes;
};
} // namespace

static FakeLaunch
launchOf(const fusec::runtime::cuda::KernelNodeParams &params) {
  FakeLaunch launch{static_cast<FakeFunction *>(params.function)->name,
                    {params.grid[0], params.grid[1], params.grid[2]},
                    params.block[0],
                    params.sharedBytes,
                    0,
                    nullptr,
                    {}};
  for (size_t i = 0; i < state.argCount; ++i)
    launch.args.push_back(*static_cast<uint64_t *>(params.args[i]));
  return launch;
}
// Only chains are made: each node follows the one before, by this call or by
// an edge that is added at once.
static int addNode(void **handle, void *graph, void *const *before,
                   size_t count, Node node) {
  auto &nodes = static_cast<FakeGraph *>(graph)->nodes;
  if (nodes.size() > 1 && !nodes.back()->before)
    return 1;
  if (count > 1 || (count && (nodes.empty() || *before != nodes.back().get())))
    return 1;
  if (count)
    node.before = nodes.back().get();
  nodes.push_back(std::make_unique<Node>(std::move(node)));
  *handle = nodes.back().get();
  return 0;
}

FAKE int cuGraphCreate(void **graph, unsigned) {
  LOCK;
  ++state.graphs;
  *graph = new FakeGraph();
  return checked("cuGraphCreate");
}
FAKE int cuGraphDestroy(void *graph) {
  LOCK;
  --state.graphs;
  delete static_cast<FakeGraph *>(graph);
  return checked("cuGraphDestroy");
}
FAKE int
cuGraphAddKernelNode_v2(void **handle, void *graph, void *const *before,
                        size_t count,
                        const fusec::runtime::cuda::KernelNodeParams *params) {
  LOCK;
  Node node;
  node.launch = launchOf(*params);
  if (int code = addNode(handle, graph, before, count, node))
    return code;
  return checked("cuGraphAddKernelNode");
}
FAKE int cuGraphAddMemsetNode(
    void **handle, void *graph, void *const *before, size_t count,
    const fusec::runtime::cuda::MemsetNodeParams *params, void *) {
  LOCK;
  Node node;
  node.isLaunch = false;
  node.fill = *params;
  if (int code = addNode(handle, graph, before, count, node))
    return code;
  return checked("cuGraphAddMemsetNode");
}
FAKE int cuGraphAddDependencies_v2(void *graph, void *const *from,
                                   void *const *to,
                                   const fusec::runtime::cuda::GraphEdge *edge,
                                   size_t count) {
  LOCK;
  auto &nodes = static_cast<FakeGraph *>(graph)->nodes;
  size_t last = nodes.size() - 1;
  // From the port of a kernel that has triggered, to a kernel.
  if (count != 1 || last == 0 || *to != nodes[last].get() ||
      *from != nodes[last - 1].get() || nodes[last]->before ||
      !nodes[last - 1]->isLaunch || edge->fromPort != 1 || edge->toPort != 0 ||
      edge->type != 1)
    return 1;
  nodes[last]->before = nodes[last - 1].get();
  nodes[last]->launch.overlaps = true;
  return checked("cuGraphAddDependencies");
}
FAKE int cuGraphKernelNodeSetAttribute(
    void *node, int id,
    const fusec::runtime::cuda::LaunchAttributeValue *value) {
  LOCK;
  if (id == 4)
    static_cast<Node *>(node)->launch.cluster = value->cluster[0];
  if (id == 2)
    static_cast<Node *>(node)->launch.cooperative = value->cooperative;
  return checked("cuGraphKernelNodeSetAttribute");
}
FAKE int cuGraphInstantiateWithFlags(void **exec, void *graph,
                                     unsigned long long) {
  LOCK;
  auto *made = new FakeExec{static_cast<FakeGraph *>(graph), {}};
  if (made->graph->nodes.size() > 1 && !made->graph->nodes.back()->before) {
    delete made;
    return 1;
  }
  for (const auto &node : made->graph->nodes)
    made->nodes.push_back(*node);
  *exec = made;
  ++state.graphs;
  return checkedOutsideCapture("cuGraphInstantiate");
}
FAKE int cuGraphExecDestroy(void *exec) {
  LOCK;
  --state.graphs;
  delete static_cast<FakeExec *>(exec);
  return checked("cuGraphExecDestroy");
}
FAKE int cuGraphExecKernelNodeSetParams_v2(
    void *handle, void *node,
    const fusec::runtime::cuda::KernelNodeParams *params) {
  LOCK;
  auto *exec = static_cast<FakeExec *>(handle);
  for (size_t i = 0; i < exec->nodes.size(); ++i)
    if (exec->graph->nodes[i].get() == node) {
      FakeLaunch before = exec->nodes[i].launch;
      exec->nodes[i].launch = launchOf(*params);
      exec->nodes[i].launch.cluster = before.cluster;
      exec->nodes[i].launch.cooperative = before.cooperative;
      exec->nodes[i].launch.overlaps = before.overlaps;
      ++state.graphUpdates;
      return checked("cuGraphExecKernelNodeSetParams");
    }
  return 1;
}
FAKE int cuGraphLaunch(void *handle, void *stream) {
  LOCK;
  if (state.capturing.count(stream)) {
    state.illegal.push_back("cuGraphLaunch");
    return 900;
  }
  for (Node &node : static_cast<FakeExec *>(handle)->nodes) {
    if (!node.isLaunch) {
      std::memset(reinterpret_cast<void *>(node.fill.to), node.fill.value,
                  node.fill.width);
      continue;
    }
    node.launch.stream = stream;
    state.launches.push_back(node.launch);
  }
  ++state.graphLaunches;
  return checked("cuGraphLaunch");
}
FAKE int cuStreamIsCapturing(void *stream, int *status) {
  LOCK;
  *status = state.capturing.count(stream) ? 1 : 0;
  return checked("cuStreamIsCapturing");
}
