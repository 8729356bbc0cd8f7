//===- CudaDevice.cpp - the CUDA driver as a Device -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The primary context is made current only for the length of a call (a
// `CurrentContext`), and not at all if it already is: a thread of the caller
// never finds another context than it left.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "DeviceQuery.h"
#include "Driver.h"

#include <map>

using namespace fusec::runtime;
using cuda::DevicePointer;
using cuda::Driver;
using llvm::Error;
using llvm::Expected;

// CU_STREAM_NON_BLOCKING: no hidden order with the legacy default stream.
static constexpr unsigned kNonBlockingStream = 1;
// Clusters above this size need the kernel's consent.
static constexpr uint32_t kPortableCluster = 8;

static DevicePointer asAddress(const void *memory) {
  return reinterpret_cast<DevicePointer>(memory);
}

namespace {
struct CudaKernel : LoadedKernel {
  cuda::Function function = nullptr;
};

class CudaModule : public LoadedModule {
public:
  CudaModule(const Driver &driver, cuda::Context context)
      : driver(driver), context(context) {}
  ~CudaModule() override;
  const LoadedKernel &kernel(size_t index) const override {
    return kernels[index];
  }

  const Driver &driver;
  cuda::Context context;
  std::vector<cuda::Module> modules;
  std::vector<CudaKernel> kernels;
};

// Makes a context current for its scope.
class CurrentContext {
public:
  CurrentContext(const Driver &driver, cuda::Context context) : driver(driver) {
    cuda::Context current = nullptr;
    result = driver.contextGetCurrent(&current);
    if (result == 0 && current != context) {
      result = driver.contextPush(context);
      pushed = result == 0;
    }
  }
  CurrentContext(const CurrentContext &) = delete;
  ~CurrentContext() {
    cuda::Context popped;
    if (pushed)
      driver.contextPop(&popped);
  }
  Error error() const { return driver.check(result, "cuCtxPushCurrent"); }

private:
  const Driver &driver;
  cuda::Result result;
  bool pushed = false;
};

class CudaDevice : public Device {
public:
  CudaDevice(const Driver &driver, DeviceInfo info, cuda::DeviceId id,
             cuda::Context context, std::unique_ptr<NvrtcCompiler> compiler,
             unsigned compileThreads)
      : driver(driver), deviceInfo(std::move(info)), id(id), context(context),
        compiler(std::move(compiler)), compileThreads(compileThreads) {}
  ~CudaDevice() override { driver.primaryRelease(id); }

  const DeviceInfo &info() const override { return deviceInfo; }
  Expected<void *> allocate(uint64_t bytes) override;
  void free(void *memory) override;
  Error copyIn(void *to, const void *from, uint64_t bytes,
               Stream stream) override;
  Error copyOut(void *to, const void *from, uint64_t bytes,
                Stream stream) override;
  Error copy(void *to, const void *from, uint64_t bytes,
             Stream stream) override;
  Error fill(void *to, uint8_t value, uint64_t bytes, Stream stream) override;
  Expected<std::unique_ptr<LoadedModule>>
  loadModule(llvm::ArrayRef<Kernel> kernels) override;
  Error launch(const LaunchRequest &request, Stream stream) override;
  Expected<Stream> createStream() override;
  void destroyStream(Stream stream) override;
  Error synchronize(Stream stream) override;
  Expected<Event> createEvent() override;
  void destroyEvent(Event event) override;
  Error recordEvent(Event event, Stream stream) override;
  Expected<double> elapsedMicroseconds(Event begin, Event end) override;
  Expected<void *> enter() override;
  void leave(void *token) override;

private:
  // Runs a driver call with the context current.
  template <typename Call>
  Error with(const char *function, Call &&call) const {
    CurrentContext current(driver, context);
    if (Error error = current.error())
      return error;
    return driver.check(call(), function);
  }
  Error loadKernel(CudaModule &module, cuda::Module handle,
                   const Kernel &kernel, const CompiledKernel &compiled);

  const Driver &driver;
  DeviceInfo deviceInfo;
  cuda::DeviceId id;
  cuda::Context context;
  std::unique_ptr<NvrtcCompiler> compiler;
  unsigned compileThreads;
};
} // namespace

CudaModule::~CudaModule() {
  CurrentContext current(driver, context);
  for (cuda::Module module : modules)
    driver.moduleUnload(module);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expected<void *> CudaDevice::allocate(uint64_t bytes) {
  if (bytes == 0)
    return nullptr;
  DevicePointer address = 0;
  Error error = with("cuMemAlloc",
                     [&] { return driver.memoryAllocate(&address, bytes); });
  if (!error)
    return reinterpret_cast<void *>(address);
  return llvm::createStringError("allocating %llu bytes: %s",
                                 static_cast<unsigned long long>(bytes),
                                 llvm::toString(std::move(error)).c_str());
}

void CudaDevice::free(void *memory) {
  if (!memory)
    return;
  // An error here is one of earlier work, which `synchronize` reports.
  llvm::consumeError(
      with("cuMemFree", [&] { return driver.memoryFree(asAddress(memory)); }));
}

Error CudaDevice::copyIn(void *to, const void *from, uint64_t bytes,
                         Stream stream) {
  if (bytes == 0)
    return Error::success();
  return with("cuMemcpyHtoDAsync", [&] {
    return driver.copyHostToDevice(asAddress(to), from, bytes, stream);
  });
}

Error CudaDevice::copyOut(void *to, const void *from, uint64_t bytes,
                          Stream stream) {
  if (bytes == 0)
    return Error::success();
  return with("cuMemcpyDtoHAsync", [&] {
    return driver.copyDeviceToHost(to, asAddress(from), bytes, stream);
  });
}

Error CudaDevice::copy(void *to, const void *from, uint64_t bytes,
                       Stream stream) {
  if (bytes == 0)
    return Error::success();
  return with("cuMemcpyDtoDAsync", [&] {
    return driver.copyDeviceToDevice(asAddress(to), asAddress(from), bytes,
                                     stream);
  });
}

Error CudaDevice::fill(void *to, uint8_t value, uint64_t bytes, Stream stream) {
  if (bytes == 0)
    return Error::success();
  return with("cuMemsetD8Async", [&] {
    return driver.fillBytes(asAddress(to), value, bytes, stream);
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// The driver's numbers take precedence over those read from the cubin.
static void readResources(const Driver &driver, CudaKernel &kernel) {
  auto read = [&](cuda::FunctionAttribute attribute,
                  std::optional<uint32_t> &field) {
    int value = 0;
    if (driver.functionGetAttribute(&value, attribute, kernel.function) == 0)
      field = static_cast<uint32_t>(value);
  };
  read(cuda::kRegisters, kernel.resources.registers);
  read(cuda::kStaticSharedBytes, kernel.resources.staticSharedBytes);
  read(cuda::kLocalBytes, kernel.resources.localBytes);
}

Error CudaDevice::loadKernel(CudaModule &module, cuda::Module handle,
                             const Kernel &kernel,
                             const CompiledKernel &compiled) {
  CudaKernel &loaded = module.kernels.emplace_back();
  loaded.entry = kernel.entry;
  loaded.threads = kernel.threads;
  loaded.cluster = kernel.cluster;
  loaded.resources = compiled.resources;
  if (Error error =
          driver.check(driver.moduleGetFunction(&loaded.function, handle,
                                                kernel.entry.c_str()),
                       "cuModuleGetFunction"))
    return error;
  // A lazy load at the first launch would synchronize, and break the caller's
  // stream capture.
  if (driver.functionLoad)
    if (Error error =
            driver.check(driver.functionLoad(loaded.function), "cuFuncLoad"))
      return error;
  readResources(driver, loaded);
  // Raising the limit to all that the block can have costs nothing until a
  // launch asks for it.
  uint64_t used = loaded.resources.staticSharedBytes.value_or(0);
  if (used < deviceInfo.sharedPerBlock)
    if (Error error = driver.check(
            driver.functionSetAttribute(
                loaded.function, cuda::kMaxDynamicSharedBytes,
                static_cast<int>(deviceInfo.sharedPerBlock - used)),
            "cuFuncSetAttribute"))
      return error;
  if (kernel.cluster > kPortableCluster)
    return driver.check(
        driver.functionSetAttribute(loaded.function,
                                    cuda::kNonPortableClusterAllowed, 1),
        "cuFuncSetAttribute");
  return Error::success();
}

Expected<std::unique_ptr<LoadedModule>>
CudaDevice::loadModule(llvm::ArrayRef<Kernel> kernels) {
  auto compiled = compiler->compileAll(kernels, compileThreads);
  if (!compiled)
    return compiled.takeError();
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return std::move(error);
  auto module = std::make_unique<CudaModule>(driver, context);
  module->kernels.reserve(kernels.size());
  std::map<const CompiledModule *, cuda::Module> handles;
  for (auto [kernel, result] : llvm::zip_equal(kernels, *compiled)) {
    auto [it, isNew] = handles.try_emplace(result.module.get(), nullptr);
    Error error = Error::success();
    if (isNew) {
      error = driver.check(
          driver.moduleLoad(&it->second, result.module->cubin.data()),
          "cuModuleLoadData");
      if (!error)
        module->modules.push_back(it->second);
    }
    if (!error)
      error = loadKernel(*module, it->second, kernel, result);
    if (error)
      return llvm::createStringError("kernel '%s': %s", kernel.entry.c_str(),
                                     llvm::toString(std::move(error)).c_str());
  }
  return module;
}

static cuda::Result launchCluster(const Driver &driver,
                                  const CudaKernel &kernel,
                                  const LaunchRequest &request, Stream stream) {
  cuda::LaunchAttribute cluster = {};
  cluster.id = cuda::LaunchAttribute::kClusterDimension;
  cluster.cluster[0] = kernel.cluster;
  cluster.cluster[1] = cluster.cluster[2] = 1;
  cuda::LaunchConfig config = {
      {request.grid[0], request.grid[1], request.grid[2]},
      {kernel.threads, 1, 1},
      request.dynamicSharedBytes,
      stream,
      &cluster,
      1};
  return driver.launchKernelEx(&config, kernel.function, request.args, nullptr);
}

// The caller has entered, see `ExecutionContext::run`; a launch by itself makes
// the context current all the same, which is cheap when it already is.
Error CudaDevice::launch(const LaunchRequest &request, Stream stream) {
  const auto &kernel = static_cast<const CudaKernel &>(*request.kernel);
  if (kernel.cluster > 1)
    return with("cuLaunchKernelEx",
                [&] { return launchCluster(driver, kernel, request, stream); });
  return with("cuLaunchKernel", [&] {
    return driver.launchKernel(kernel.function, request.grid[0],
                               request.grid[1], request.grid[2], kernel.threads,
                               1, 1, request.dynamicSharedBytes, stream,
                               request.args, nullptr);
  });
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

Expected<Stream> CudaDevice::createStream() {
  Stream stream = nullptr;
  if (Error error = with("cuStreamCreate", [&] {
        return driver.streamCreate(&stream, kNonBlockingStream);
      }))
    return std::move(error);
  return stream;
}

void CudaDevice::destroyStream(Stream stream) {
  if (stream)
    llvm::consumeError(
        with("cuStreamDestroy", [&] { return driver.streamDestroy(stream); }));
}

Error CudaDevice::synchronize(Stream stream) {
  return with("cuStreamSynchronize",
              [&] { return driver.streamSynchronize(stream); });
}

Expected<Event> CudaDevice::createEvent() {
  Event event = nullptr;
  if (Error error =
          with("cuEventCreate", [&] { return driver.eventCreate(&event, 0); }))
    return std::move(error);
  return event;
}

void CudaDevice::destroyEvent(Event event) {
  if (event)
    llvm::consumeError(
        with("cuEventDestroy", [&] { return driver.eventDestroy(event); }));
}

Error CudaDevice::recordEvent(Event event, Stream stream) {
  return with("cuEventRecord",
              [&] { return driver.eventRecord(event, stream); });
}

Expected<double> CudaDevice::elapsedMicroseconds(Event begin, Event end) {
  float milliseconds = 0;
  if (Error error = with("cuEventSynchronize",
                         [&] { return driver.eventSynchronize(end); }))
    return std::move(error);
  if (Error error = with("cuEventElapsedTime", [&] {
        return driver.eventElapsedTime(&milliseconds, begin, end);
      }))
    return std::move(error);
  return 1000.0 * milliseconds;
}

Expected<void *> CudaDevice::enter() {
  cuda::Context current = nullptr;
  if (Error error =
          driver.check(driver.contextGetCurrent(&current), "cuCtxGetCurrent"))
    return std::move(error);
  if (current == context)
    return nullptr;
  if (Error error =
          driver.check(driver.contextPush(context), "cuCtxPushCurrent"))
    return std::move(error);
  return context;
}

void CudaDevice::leave(void *token) {
  cuda::Context popped;
  if (token)
    driver.contextPop(&popped);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<NvrtcCompiler>>
openCompiler(const Driver &driver, unsigned architecture,
             const CudaOptions &options) {
  NvrtcSearch search = options.nvrtc;
  int version = 0;
  // A cubin of a newer major version may not load.
  if (driver.driverGetVersion(&version) == 0 && search.maxMajor == 0)
    search.maxMajor = version / 1000;
  auto nvrtc = Nvrtc::open(search);
  if (!nvrtc)
    return nvrtc.takeError();
  NvrtcOptions compile = options.compile;
  compile.architecture = architecture;
  compile.driverVersion = version;
  return std::make_unique<NvrtcCompiler>(std::move(*nvrtc), std::move(compile),
                                         options.cache);
}

Expected<std::shared_ptr<Device>>
fusec::runtime::createCudaDevice(const CudaOptions &options) {
  Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.takeError();
  cuda::DeviceId id = 0;
  if (Error error = (*driver)->check((*driver)->deviceGet(&id, options.ordinal),
                                     "cuDeviceGet"))
    return llvm::createStringError("device %d: %s", options.ordinal,
                                   llvm::toString(std::move(error)).c_str());
  Expected<DeviceInfo> info = queryDevice(**driver, id);
  if (!info)
    return info.takeError();
  auto compiler = openCompiler(**driver, info->computeCapability, options);
  if (!compiler)
    return compiler.takeError();
  cuda::Context context = nullptr;
  if (Error error = (*driver)->check((*driver)->primaryRetain(&context, id),
                                     "cuDevicePrimaryCtxRetain"))
    return std::move(error);
  return std::make_shared<CudaDevice>(**driver, std::move(*info), id, context,
                                      std::move(*compiler),
                                      options.compileThreads);
}
