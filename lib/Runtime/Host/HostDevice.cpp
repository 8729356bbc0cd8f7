//===- HostDevice.cpp - the machine's own cores as a device ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are LLVM IR text. Loading compiles each on its own (in parallel on
// the pool) and links the objects in one ORC LLJIT that sees only
// hostSymbols().
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Host/HostDevice.h"
#include "HostCompiler.h"
#include "HostMath.h"
#include "ThreadPool.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <cfenv>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

namespace {
using Entry = void(void **args, int64_t begin, int64_t end);

struct HostKernel : LoadedKernel {
  Entry *function = nullptr;
};

class HostModule : public LoadedModule {
public:
  const LoadedKernel &kernel(size_t index) const override {
    return kernels[index];
  }
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<HostKernel> kernels;
};

class HostDevice : public HostMemoryDevice {
public:
  explicit HostDevice(const HostDeviceOptions &options)
      : pool(options.threads), fastCompile(options.fastCompile) {
    description.name = "host";
    description.multiprocessors = pool.threadCount();
    description.hostMemory = true;
    description.bufferAlignment = 1;
  }
  const DeviceInfo &info() const override { return description; }
  Expected<std::unique_ptr<LoadedModule>>
  loadModule(llvm::ArrayRef<Kernel> kernels) override;
  Error launch(const LaunchRequest &request, Stream stream) override;

private:
  DeviceInfo description;
  ThreadPool pool;
  bool fastCompile;
};

/// The default floating-point environment while it lives.
class DefaultEnvironment {
public:
  DefaultEnvironment() {
    std::fegetenv(&saved);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultEnvironment() { std::fesetenv(&saved); }

private:
  std::fenv_t saved;
};
} // namespace

static Expected<std::unique_ptr<llvm::orc::LLJIT>> createJit() {
  initializeHostTarget();
  auto jit = llvm::orc::LLJITBuilder()
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return jit.takeError();
  llvm::orc::SymbolMap symbols;
  for (const HostSymbol &symbol : hostSymbols())
    symbols[(*jit)->mangleAndIntern(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported};
  if (Error error = (*jit)->getMainJITDylib().define(
          llvm::orc::absoluteSymbols(std::move(symbols))))
    return std::move(error);
  return jit;
}

Expected<std::unique_ptr<LoadedModule>>
HostDevice::loadModule(llvm::ArrayRef<Kernel> kernels) {
  using Object = std::unique_ptr<llvm::MemoryBuffer>;
  std::vector<Object> objects(kernels.size());
  std::vector<std::string> problems(kernels.size());
  pool.parallelFor(kernels.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Expected<Object> object =
          compileHostObject(kernels[i].source, kernels[i].entry, fastCompile);
      if (object)
        objects[i] = std::move(*object);
      else
        problems[i] = llvm::toString(object.takeError());
    }
  });
  for (const std::string &problem : problems)
    if (!problem.empty())
      return llvm::createStringError(problem);

  // The session says what is wrong (a symbol that does not exist), the look-up
  // only that something is. Outlives the session.
  std::string report;
  auto module = std::make_unique<HostModule>();
  auto jit = createJit();
  if (!jit)
    return jit.takeError();
  module->jit = std::move(*jit);
  for (Object &object : objects)
    if (Error error = module->jit->addObjectFile(std::move(object)))
      return std::move(error);
  llvm::orc::ExecutionSession &session = module->jit->getExecutionSession();
  session.setErrorReporter(
      [&](Error error) { report += llvm::toString(std::move(error)); });
  for (const Kernel &kernel : kernels) {
    auto address = module->jit->lookup(kernel.entry);
    if (!address) {
      std::string problem = llvm::toString(address.takeError());
      return llvm::createStringError("kernel '" + kernel.entry +
                                     "': " + report + "; " + problem);
    }
    HostKernel loaded;
    loaded.entry = kernel.entry;
    loaded.threads = kernel.threads;
    loaded.function = address->toPtr<Entry *>();
    module->kernels.push_back(std::move(loaded));
  }
  session.setErrorReporter(
      [](Error error) { llvm::consumeError(std::move(error)); });
  return module;
}

Error HostDevice::launch(const LaunchRequest &request, Stream) {
  auto *kernel = static_cast<const HostKernel *>(request.kernel);
  if (request.grid[1] != 1 || request.grid[2] != 1)
    return llvm::createStringError(
        "kernel '%s': expected a grid of one dimension on the host",
        kernel->entry.c_str());
  pool.parallelFor(request.grid[0], [&](int64_t begin, int64_t end) {
    DefaultEnvironment environment;
    kernel->function(request.args, begin, end);
  });
  return Error::success();
}

std::shared_ptr<Device>
fusec::runtime::createHostDevice(const HostDeviceOptions &options) {
  return std::make_shared<HostDevice>(options);
}
