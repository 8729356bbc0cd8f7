//===- CudaModule.cpp - kernels loaded by the driver ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaModule.h"

#include "llvm/ADT/STLExtras.h"

using namespace fusec::runtime;
using cuda::Driver;
using llvm::Error;
using llvm::Expected;

// Clusters above this size need the kernel's consent.
static constexpr uint32_t kPortableCluster = 8;

CurrentContext::CurrentContext(const Driver &driver, cuda::Context context)
    : driver(driver) {
  cuda::Context current = nullptr;
  result = driver.contextGetCurrent(&current);
  if (result == 0 && current != context) {
    result = driver.contextPush(context);
    pushed = result == 0;
  }
}

CurrentContext::~CurrentContext() {
  cuda::Context popped;
  if (pushed)
    driver.contextPop(&popped);
}

//===----------------------------------------------------------------------===//
// One module
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<LoadedCubin>>
LoadedCubin::load(const Driver &driver, cuda::Context context,
                  std::shared_ptr<const CompiledModule> source) {
  std::shared_ptr<LoadedCubin> cubin(
      new LoadedCubin(driver, context, std::move(source)));
  if (Error error = driver.check(
          driver.moduleLoad(&cubin->handle, cubin->source->cubin.data()),
          "cuModuleLoadData"))
    return std::move(error);
  return cubin;
}

LoadedCubin::~LoadedCubin() {
  CurrentContext current(driver, context);
  if (handle)
    driver.moduleUnload(handle);
}

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

static Error makeReady(const Driver &driver, CudaKernel &loaded,
                       uint64_t sharedPerBlock) {
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
  if (used < sharedPerBlock)
    if (Error error =
            driver.check(driver.functionSetAttribute(
                             loaded.function, cuda::kMaxDynamicSharedBytes,
                             static_cast<int>(sharedPerBlock - used)),
                         "cuFuncSetAttribute"))
      return error;
  if (loaded.cluster > kPortableCluster)
    return driver.check(
        driver.functionSetAttribute(loaded.function,
                                    cuda::kNonPortableClusterAllowed, 1),
        "cuFuncSetAttribute");
  return Error::success();
}

Expected<const CudaKernel *> LoadedCubin::kernel(const Kernel &kernel,
                                                 const CompiledKernel &compiled,
                                                 uint64_t sharedPerBlock) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<CudaKernel> &slot = kernels[kernel.entry];
  if (slot)
    return slot.get();
  auto loaded = std::make_unique<CudaKernel>();
  loaded->entry = kernel.entry;
  loaded->threads = kernel.threads;
  loaded->cluster = kernel.cluster;
  loaded->cooperative = kernel.cooperative;
  loaded->resources = compiled.resources;
  if (Error error =
          driver.check(driver.moduleGetFunction(&loaded->function, handle,
                                                kernel.entry.c_str()),
                       "cuModuleGetFunction"))
    return std::move(error);
  if (Error error = makeReady(driver, *loaded, sharedPerBlock))
    return std::move(error);
  slot = std::move(loaded);
  return slot.get();
}

//===----------------------------------------------------------------------===//
// All modules
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<LoadedCubin>>
CudaLoader::find(const std::shared_ptr<const CompiledModule> &module) {
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<LoadedCubin> &known = loaded[module.get()];
  if (auto cubin = known.lock())
    return cubin;
  auto cubin = LoadedCubin::load(driver, context, module);
  if (!cubin)
    return cubin.takeError();
  // Places of modules that have gone are not kept for ever.
  for (auto it = loaded.begin(); it != loaded.end();)
    it = it->first != module.get() && it->second.expired() ? loaded.erase(it)
                                                           : std::next(it);
  known = *cubin;
  return *cubin;
}

Expected<std::unique_ptr<LoadedModule>>
CudaLoader::load(llvm::ArrayRef<Kernel> kernels,
                 llvm::ArrayRef<CompiledKernel> compiled) {
  CurrentContext current(driver, context);
  if (Error error = current.error())
    return std::move(error);
  auto module = std::make_unique<CudaModule>();
  for (auto [kernel, result] : llvm::zip_equal(kernels, compiled)) {
    auto fail = [&, &kernel = kernel](Error error) -> Error {
      return llvm::createStringError("kernel '%s': %s", kernel.entry.c_str(),
                                     llvm::toString(std::move(error)).c_str());
    };
    auto cubin = find(result.module);
    if (!cubin)
      return fail(cubin.takeError());
    auto loadedKernel = (*cubin)->kernel(kernel, result, sharedPerBlock);
    if (!loadedKernel)
      return fail(loadedKernel.takeError());
    module->cubins.push_back(std::move(*cubin));
    module->kernels.push_back(*loadedKernel);
  }
  return module;
}
