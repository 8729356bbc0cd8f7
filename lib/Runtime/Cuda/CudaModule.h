//===- CudaModule.h - kernels loaded by the driver --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime/Cuda. A compiled module is loaded once per device
// while anyone uses it, however many Executables do: those of another batch
// size or of a net with the same layers load nothing anew.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_CUDAMODULE_H
#define FUSEC_LIB_RUNTIME_CUDA_CUDAMODULE_H

#include "Driver.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <mutex>

namespace fusec::runtime {

struct CudaKernel : LoadedKernel {
  cuda::Function function = nullptr;
};

/// Makes a context current for its scope.
class CurrentContext {
public:
  CurrentContext(const cuda::Driver &driver, cuda::Context context);
  CurrentContext(const CurrentContext &) = delete;
  ~CurrentContext();
  llvm::Error error() const { return driver.check(result, "cuCtxPushCurrent"); }

private:
  const cuda::Driver &driver;
  cuda::Result result;
  bool pushed = false;
};

/// One compiled module in the driver. Thread-safe.
class LoadedCubin {
public:
  static llvm::Expected<std::shared_ptr<LoadedCubin>>
  load(const cuda::Driver &driver, cuda::Context context,
       std::shared_ptr<const CompiledModule> source);
  ~LoadedCubin();
  /// The kernel, made ready for launching at the first call; it lives as long
  /// as this object. The context is current.
  llvm::Expected<const CudaKernel *> kernel(const Kernel &kernel,
                                            const CompiledKernel &compiled,
                                            uint64_t sharedPerBlock);

private:
  LoadedCubin(const cuda::Driver &driver, cuda::Context context,
              std::shared_ptr<const CompiledModule> source)
      : driver(driver), context(context), source(std::move(source)) {}
  const cuda::Driver &driver;
  cuda::Context context;
  // Also keeps the address unique, by which the module is found again.
  std::shared_ptr<const CompiledModule> source;
  cuda::Module handle = nullptr;
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<CudaKernel>> kernels;
};

/// The kernels of one call to `loadModule`.
class CudaModule : public LoadedModule {
public:
  const LoadedKernel &kernel(size_t index) const override {
    return *kernels[index];
  }
  std::vector<std::shared_ptr<LoadedCubin>> cubins;
  std::vector<const CudaKernel *> kernels;
};

/// Loads compiled kernels, each module once while it is in use. Thread-safe.
class CudaLoader {
public:
  CudaLoader(const cuda::Driver &driver, cuda::Context context,
             uint64_t sharedPerBlock)
      : driver(driver), context(context), sharedPerBlock(sharedPerBlock) {}
  /// `compiled` is parallel to `kernels`.
  llvm::Expected<std::unique_ptr<LoadedModule>>
  load(llvm::ArrayRef<Kernel> kernels, llvm::ArrayRef<CompiledKernel> compiled);

private:
  llvm::Expected<std::shared_ptr<LoadedCubin>>
  find(const std::shared_ptr<const CompiledModule> &module);
  const cuda::Driver &driver;
  cuda::Context context;
  uint64_t sharedPerBlock;
  std::mutex mutex;
  std::map<const CompiledModule *, std::weak_ptr<LoadedCubin>> loaded;
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_CUDAMODULE_H
