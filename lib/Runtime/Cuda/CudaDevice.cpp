//===- CudaDevice.cpp - the CUDA driver as a Device -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The primary context is made current only for the length of a call (a
// `CurrentContext`), and not at all if it already is: a thread of the caller
// never finds another context than it left.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "CublasLt.h"
#include "CudaGraph.h"
#include "DeviceQuery.h"
#include "fusec/Runtime/StridedCopy.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MathExtras.h"

#include <atomic>

using namespace fusec::runtime;
using cuda::DevicePointer;
using cuda::Driver;
using fusec::DType;
using llvm::Error;
using llvm::Expected;

// CU_STREAM_NON_BLOCKING: no hidden order with the legacy default stream.
static constexpr unsigned kNonBlockingStream = 1;

static DevicePointer asAddress(const void *memory) {
  return reinterpret_cast<DevicePointer>(memory);
}

namespace {
class CudaDevice : public Device {
public:
  CudaDevice(const Driver &driver, DeviceInfo info, cuda::DeviceId id,
             cuda::Context context, std::unique_ptr<NvrtcCompiler> compiler,
             unsigned compileThreads, unsigned majorVersion)
      : driver(driver), deviceInfo(std::move(info)), id(id), context(context),
        compiler(std::move(compiler)), compileThreads(compileThreads),
        majorVersion(majorVersion),
        loader(driver, context, deviceInfo.sharedPerBlock),
        launchesOverlap(deviceInfo.computeCapability >= 90 &&
                        driver.launchKernelEx && driver.graphAddDependencies) {}
  ~CudaDevice() override {
    strided = {};
    {
      CurrentContext current(driver, context);
      cublas.reset();
    }
    driver.primaryRelease(id);
  }

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
  Expected<std::vector<VendorAlgorithm>>
  vendorAlgorithms(const MatrixProduct &product, size_t most) override;
  Expected<std::unique_ptr<LoadedProduct>>
  loadProduct(const MatrixProduct &product,
              const VendorAlgorithm &algorithm) override;
  Error multiply(const ProductRequest &request, Stream stream) override;
  Error encodeTensorMap(const TensorMapArg &map, void *base,
                        void *to) const override;
  Expected<std::unique_ptr<LaunchGraph>>
  makeGraph(llvm::ArrayRef<GraphStep> steps) override;
  Error updateGraph(LaunchGraph &graph, size_t index,
                    const LaunchRequest &request) override;
  Error launchGraph(LaunchGraph &graph, Stream stream) override;
  Expected<bool> isCapturing(Stream stream) override;
  Error copyStrided(void *to, const void *from, const StridedLayout &layout,
                    unsigned elementBytes, Stream stream) override;
  bool canCopyStrided(unsigned elementBytes) const override;
  Error prepareCopyStrided(unsigned elementBytes) override;
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
  Expected<const CublasLt *> vendor();
  Error runOnce(const MatrixProduct &product, const VendorAlgorithm &algorithm,
                const LoadedProduct &loaded);

  const Driver &driver;
  DeviceInfo deviceInfo;
  cuda::DeviceId id;
  cuda::Context context;
  std::unique_ptr<NvrtcCompiler> compiler;
  unsigned compileThreads;
  // Of the driver; no library may be newer.
  unsigned majorVersion;
  CudaLoader loader;
  /// Programmatic dependent launch, in streams and when they are captured.
  bool launchesOverlap;
  // Opened when first needed; null then where that failed.
  std::once_flag cublasOnce;
  std::unique_ptr<CublasLt> cublas;
  std::string whyNoCublas;
  // One kernel per size of kStridedElementBytes, made when first needed.
  std::mutex stridedMutex;
  std::array<std::unique_ptr<LoadedModule>, kStridedElementBytes.size()>
      strided;
  std::array<std::atomic<bool>, kStridedElementBytes.size()> stridedReady = {};
};
} // namespace

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
  return llvm::createStringError(std::errc::not_enough_memory,
                                 "allocating %llu bytes: %s",
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

Expected<std::unique_ptr<LoadedModule>>
CudaDevice::loadModule(llvm::ArrayRef<Kernel> kernels) {
  auto compiled = compiler->compileAll(kernels, compileThreads);
  if (!compiled)
    return compiled.takeError();
  return loader.load(kernels, *compiled);
}

// A launch with what a plain one cannot say.
static cuda::Result launchTogether(const Driver &driver,
                                   const CudaKernel &kernel,
                                   const LaunchRequest &request, bool overlaps,
                                   Stream stream) {
  cuda::LaunchAttribute attributes[3] = {};
  unsigned count = 0;
  if (overlaps) {
    cuda::LaunchAttribute &early = attributes[count++];
    early.id = cuda::LaunchAttribute::kProgrammaticSerialization;
    early.programmatic = 1;
  }
  if (kernel.cluster > 1) {
    cuda::LaunchAttribute &cluster = attributes[count++];
    cluster.id = cuda::LaunchAttribute::kClusterDimension;
    cluster.cluster[0] = kernel.cluster;
    cluster.cluster[1] = cluster.cluster[2] = 1;
  }
  if (kernel.cooperative) {
    cuda::LaunchAttribute &together = attributes[count++];
    together.id = cuda::LaunchAttribute::kCooperative;
    together.cooperative = 1;
  }
  cuda::LaunchConfig config = {
      {request.grid[0], request.grid[1], request.grid[2]},
      {kernel.threads, 1, 1},
      request.dynamicSharedBytes,
      stream,
      attributes,
      count};
  return driver.launchKernelEx(&config, kernel.function, request.args, nullptr);
}

// The caller has entered, see `ExecutionContext::run`; a launch by itself makes
// the context current all the same, which is cheap when it already is.
Error CudaDevice::launch(const LaunchRequest &request, Stream stream) {
  const auto &kernel = static_cast<const CudaKernel &>(*request.kernel);
  bool overlaps = request.overlaps && launchesOverlap;
  if (kernel.cluster > 1 || kernel.cooperative || overlaps)
    return with("cuLaunchKernelEx", [&] {
      return launchTogether(driver, kernel, request, overlaps, stream);
    });
  return with("cuLaunchKernel", [&] {
    return driver.launchKernel(kernel.function, request.grid[0],
                               request.grid[1], request.grid[2], kernel.threads,
                               1, 1, request.dynamicSharedBytes, stream,
                               request.args, nullptr);
  });
}

//===----------------------------------------------------------------------===//
// The vendor's products
//===----------------------------------------------------------------------===//

// The context is current.
Expected<const CublasLt *> CudaDevice::vendor() {
  std::call_once(cublasOnce, [&] {
    auto opened = CublasLt::create(majorVersion);
    if (opened)
      cublas = std::move(*opened);
    else
      whyNoCublas = llvm::toString(opened.takeError());
  });
  if (!cublas)
    return llvm::createStringError(whyNoCublas);
  return cublas.get();
}

Expected<std::vector<VendorAlgorithm>>
CudaDevice::vendorAlgorithms(const MatrixProduct &product, size_t most) {
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return std::move(error);
  Expected<const CublasLt *> library = vendor();
  if (!library)
    return library.takeError();
  return (*library)->algorithms(product, most);
}

// The library loads its kernels when they first run, which a stream that is
// being captured does not allow.
Error CudaDevice::runOnce(const MatrixProduct &product,
                          const VendorAlgorithm &algorithm,
                          const LoadedProduct &loaded) {
  void *memory[6] = {};
  llvm::scope_exit giveBack([&] {
    for (void *one : memory)
      free(one);
  });
  int64_t width = byteSize(product.result.dtype);
  int64_t bytes[6] = {
      product.lhsReach().value_or(0) * byteSize(product.lhs.dtype),
      product.rhsReach().value_or(0) * byteSize(product.rhs.dtype),
      product.addend
          ? product.reachAsResult(*product.addend).value_or(0) * width
          : 0,
      product.bias ? product.n * width : 0,
      product.resultReach().value_or(0) * width,
      int64_t(algorithm.workspaceBytes)};
  for (auto [to, size] : llvm::zip(memory, bytes)) {
    Expected<void *> place = allocate(size);
    if (!place)
      return place.takeError();
    to = *place;
  }
  Expected<Stream> stream = createStream();
  if (!stream)
    return stream.takeError();
  // The library reads its operands.
  for (int i : {0, 1, 2, 3})
    if (Error error = bytes[i] ? fill(memory[i], 0, bytes[i], *stream)
                               : Error::success()) {
      destroyStream(*stream);
      return error;
    }
  auto [lhs, rhs, addend, bias, result, workspace] = memory;
  Error error =
      multiply({&loaded, lhs, rhs, result, workspace, addend, bias}, *stream);
  if (!error)
    error = synchronize(*stream);
  destroyStream(*stream);
  return error;
}

Expected<std::unique_ptr<LoadedProduct>>
CudaDevice::loadProduct(const MatrixProduct &product,
                        const VendorAlgorithm &algorithm) {
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return std::move(error);
  Expected<const CublasLt *> library = vendor();
  if (!library)
    return library.takeError();
  auto loaded = (*library)->load(product, algorithm);
  if (!loaded)
    return loaded.takeError();
  if (Error error = runOnce(product, algorithm, **loaded))
    return std::move(error);
  return loaded;
}

// What was loaded came from `cublas`, which stays.
Error CudaDevice::multiply(const ProductRequest &request, Stream stream) {
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return error;
  return cublas->multiply(request, stream);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static cuda::TensorMapType tensorMapType(DType type) {
  switch (type) {
  case DType::F64:
    return cuda::kTensorF64;
  case DType::F32:
    return cuda::kTensorF32;
  case DType::F16:
    return cuda::kTensorF16;
  case DType::BF16:
    return cuda::kTensorBF16;
  case DType::I64:
    return cuda::kTensorI64;
  case DType::U64:
    return cuda::kTensorU64;
  case DType::I32:
    return cuda::kTensorI32;
  case DType::U32:
    return cuda::kTensorU32;
  default:
    return byteSize(type) == 2 ? cuda::kTensorU16 : cuda::kTensorU8;
  }
}

TensorMapCodes fusec::runtime::tensorMapCodes(const TensorMapArg &map) {
  // CUtensorMapSwizzle, CUtensorMapL2promotion: the powers of two in order.
  TensorMapCodes codes;
  codes.type = map.roundsToTf32 ? cuda::kTensorTF32 : tensorMapType(map.dtype);
  codes.swizzle = map.swizzle ? llvm::Log2_32(map.swizzle / 16) : 0;
  codes.promotion = map.l2Promotion ? llvm::Log2_32(map.l2Promotion / 32) : 0;
  codes.fill = map.fill == TensorMapArg::Fill::Nan;
  return codes;
}

Error CudaDevice::encodeTensorMap(const TensorMapArg &map, void *base,
                                  void *to) const {
  if (!driver.tensorMapEncode)
    return llvm::createStringError("the CUDA driver has no tensor maps");
  TensorMapCodes codes = tensorMapCodes(map);
  uint64_t dims[5], strides[5] = {};
  uint32_t steps[5];
  for (size_t d = 0; d < map.dims.size(); ++d) {
    dims[d] = static_cast<uint64_t>(map.dims[d]);
    steps[d] = map.steps.empty() ? 1 : map.steps[d];
    if (d != 0)
      strides[d - 1] = static_cast<uint64_t>(map.strides[d - 1]);
  }
  return with("cuTensorMapEncodeTiled", [&] {
    return driver.tensorMapEncode(
        to, static_cast<cuda::TensorMapType>(codes.type),
        static_cast<uint32_t>(map.dims.size()),
        static_cast<std::byte *>(base) + map.byteOffset, dims, strides,
        map.box.data(), steps, /*interleave=*/0, codes.swizzle, codes.promotion,
        codes.fill);
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<LaunchGraph>>
CudaDevice::makeGraph(llvm::ArrayRef<GraphStep> steps) {
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return std::move(error);
  return CudaGraph::create(driver, context, steps, launchesOverlap);
}

Error CudaDevice::updateGraph(LaunchGraph &graph, size_t index,
                              const LaunchRequest &request) {
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return error;
  return static_cast<CudaGraph &>(graph).update(index, request);
}

Error CudaDevice::launchGraph(LaunchGraph &graph, Stream stream) {
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return error;
  return static_cast<CudaGraph &>(graph).replay(stream);
}

Expected<bool> CudaDevice::isCapturing(Stream stream) {
  int status = 0;
  if (Error error = with("cuStreamIsCapturing", [&] {
        return driver.streamIsCapturing(stream, &status);
      }))
    return std::move(error);
  return status != 0;
}

//===----------------------------------------------------------------------===//
// Strided copies
//===----------------------------------------------------------------------===//

static size_t stridedIndex(unsigned elementBytes) {
  return llvm::find(kStridedElementBytes, elementBytes) -
         kStridedElementBytes.begin();
}

bool CudaDevice::canCopyStrided(unsigned elementBytes) const {
  size_t index = stridedIndex(elementBytes);
  return index < stridedReady.size() &&
         stridedReady[index].load(std::memory_order_acquire);
}

Error CudaDevice::prepareCopyStrided(unsigned elementBytes) {
  size_t index = stridedIndex(elementBytes);
  if (index == strided.size())
    return llvm::createStringError("no strided copy of elements of %u bytes",
                                   elementBytes);
  std::lock_guard<std::mutex> lock(stridedMutex);
  if (strided[index])
    return Error::success();
  auto module = loadModule(stridedCopyKernel(elementBytes));
  if (!module)
    return module.takeError();
  strided[index] = std::move(*module);
  stridedReady[index].store(true, std::memory_order_release);
  return Error::success();
}

Error CudaDevice::copyStrided(void *to, const void *from,
                              const StridedLayout &layout,
                              unsigned elementBytes, Stream stream) {
  if (!canCopyStrided(elementBytes))
    return llvm::createStringError(
        "the strided copy of elements of %u bytes was not prepared",
        elementBytes);
  LaunchRequest request;
  request.kernel = &strided[stridedIndex(elementBytes)]->kernel(0);
  // A few waves; the kernel strides over the rest.
  constexpr int64_t kThreads = 256, kMaxBlocks = 65535;
  request.grid[0] = static_cast<uint32_t>(
      std::clamp<int64_t>(layout.elements / kThreads + 1, 1, kMaxBlocks));
  int64_t elements = layout.elements;
  int32_t rank = static_cast<int32_t>(layout.rank);
  auto sizes = layout.sizes, strides = layout.strides;
  std::array<void *, 4 + 2 * StridedLayout::kMaxRank> args = {&from, &to,
                                                              &elements, &rank};
  for (unsigned dim = 0; dim < StridedLayout::kMaxRank; ++dim) {
    args[4 + dim] = &sizes[dim];
    args[4 + StridedLayout::kMaxRank + dim] = &strides[dim];
  }
  request.args = args.data();
  return launch(request, stream);
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
  int version = 0;
  unsigned majorVersion =
      (*driver)->driverGetVersion(&version) == 0 ? version / 1000 : 0;
  auto compiler = openCompiler(**driver, info->computeCapability, options);
  if (!compiler)
    return compiler.takeError();
  cuda::Context context = nullptr;
  if (Error error = (*driver)->check((*driver)->primaryRetain(&context, id),
                                     "cuDevicePrimaryCtxRetain"))
    return std::move(error);
  return std::make_shared<CudaDevice>(**driver, std::move(*info), id, context,
                                      std::move(*compiler),
                                      options.compileThreads, majorVersion);
}
