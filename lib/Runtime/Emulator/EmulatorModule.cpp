//===- EmulatorModule.cpp - run kernel text on the CPU --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiling is in EmulatorCompile.cpp; a launch spreads its blocks over
// workers, one per OS thread, which the module keeps for the next launch.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Emulator/EmulatorModule.h"

#include "EmulatorCompile.h"
#include "Worker.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;

// Each worker maps two pages' worth of kernel bookkeeping per emulated thread:
// 16 x 1024 stacks with guard pages stay below Linux's 65 530 mappings.
static constexpr unsigned kMaxWorkers = 16;

//===-- EmulatorMemory ----------------------------------------------------===//

static uint64_t startOf(const EmulatorBuffer &buffer) {
  return reinterpret_cast<uint64_t>(buffer.data);
}
static bool addressLess(const EmulatorBuffer &a, const EmulatorBuffer &b) {
  // Of two with the same start the longer one counts: it comes last.
  return std::make_pair(startOf(a), a.bytes) <
         std::make_pair(startOf(b), b.bytes);
}

llvm::Error EmulatorMemory::registerBuffer(void *data, uint64_t bytes,
                                           llvm::StringRef name,
                                           Contents contents) {
  unregisterBuffer(data);
  EmulatorBuffer buffer{data, bytes, name.str(), nullptr};
  for (const EmulatorBuffer &other : list)
    if (startOf(buffer) < startOf(other) + other.bytes &&
        startOf(other) < startOf(buffer) + bytes)
      return llvm::createStringError("buffer '" + name + "' overlaps buffer '" +
                                     other.name + "'");
  std::unique_ptr<uint8_t[]> shadow;
  if (contents == Contents::Uninitialised && bytes != 0)
    shadow = std::make_unique<uint8_t[]>(bytes);
  buffer.written = shadow.get();
  auto at = std::upper_bound(list.begin(), list.end(), buffer, addressLess);
  shadows.insert(shadows.begin() + (at - list.begin()), std::move(shadow));
  list.insert(at, std::move(buffer));
  return llvm::Error::success();
}

void EmulatorMemory::unregisterBuffer(const void *data) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].data == data) {
      list.erase(list.begin() + i);
      shadows.erase(shadows.begin() + i);
      return;
    }
}

//===-- EmulatorModule ----------------------------------------------------===//

struct EmulatorModule::Impl {
  struct Entry {
    void (*run)(void **);
    uint32_t threads;
    uint32_t cluster; // 0: any
    bool grid;
  };
  void *library = nullptr;
  bool checks = true;
  llvm::StringMap<Entry> entries;

  std::mutex mutex; // guards `idle`
  std::vector<std::unique_ptr<Worker>> idle;

  ~Impl() {
    if (library)
      dlclose(library);
  }
  std::unique_ptr<Worker> takeWorker() {
    std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty())
      return std::make_unique<Worker>();
    std::unique_ptr<Worker> worker = std::move(idle.back());
    idle.pop_back();
    return worker;
  }
  void giveBack(std::unique_ptr<Worker> worker) {
    std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(worker));
  }
};

EmulatorModule::EmulatorModule(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
EmulatorModule::~EmulatorModule() = default;

template <class F>
static F symbol(void *library, const llvm::Twine &name) {
  return reinterpret_cast<F>(dlsym(library, name.str().c_str()));
}

llvm::Expected<std::unique_ptr<EmulatorModule>>
EmulatorModule::compile(llvm::ArrayRef<EmulatorKernel> kernels,
                        const EmulatorCompileOptions &options) {
  llvm::Expected<void *> library = compileAndLoad(kernels, options);
  if (!library)
    return library.takeError();
  auto impl = std::make_unique<Impl>();
  impl->library = *library;
  impl->checks = options.checks;
  symbol<void (*)(const FusecEmuApi *)>(*library, "fusec_emu_bind")(&api());
  for (const EmulatorKernel &kernel : kernels) {
    Impl::Entry entry;
    entry.run =
        symbol<void (*)(void **)>(*library, "fusec_emu_entry_" + kernel.entry);
    auto form =
        symbol<int32_t (*)()>(*library, "fusec_emu_form_" + kernel.entry);
    if (!entry.run || !form)
      return llvm::createStringError("the text of kernel '" + kernel.entry +
                                     "' does not export that name");
    auto bits = static_cast<uint32_t>(form());
    entry.threads = bits & 0xffff;
    entry.cluster = bits >> 16 & 0xff;
    entry.grid = bits >> 24 != 0;
    impl->entries[kernel.entry] = entry;
  }
  return std::unique_ptr<EmulatorModule>(new EmulatorModule(std::move(impl)));
}

uint32_t EmulatorModule::maxThreads(llvm::StringRef entry) const {
  auto found = impl->entries.find(entry);
  return found == impl->entries.end() ? 0 : found->second.threads;
}

/// Clusters and blocks that run together; sets their numbers.
static llvm::Error checkTogether(const EmulatorLaunch &launch,
                                 uint32_t declared, uint64_t blocks,
                                 LaunchState &state) {
  uint32_t cluster = std::max(launch.cluster, 1u);
  if (declared != 0 && declared != cluster)
    return llvm::createStringError(llvm::formatv(
        "kernel '{0}' is made for clusters of {1} blocks, but was launched "
        "with {2}",
        launch.entry, declared, cluster));
  if (cluster > kMaxCluster || launch.grid[0] % cluster != 0)
    return llvm::createStringError(llvm::formatv(
        "kernel '{0}': expected clusters of at most {1} blocks that divide the "
        "grid of {2}, found {3}",
        launch.entry, kMaxCluster, launch.grid[0], cluster));
  state.cluster = cluster;
  if (state.together == 1)
    state.together = cluster;
  else if (blocks * launch.threads > kMaxTogether)
    return llvm::createStringError(llvm::formatv(
        "kernel '{0}': the emulator runs at most {1} threads of a cooperative "
        "launch, found {2}",
        launch.entry, kMaxTogether, blocks * launch.threads));
  return llvm::Error::success();
}

static llvm::Error checkLaunch(const EmulatorLaunch &launch,
                               uint32_t maxThreads) {
  if (launch.threads == 0 || launch.threads > maxThreads ||
      launch.threads > kMaxThreads)
    return llvm::createStringError(llvm::formatv(
        "kernel '{0}' takes 1 to {1} threads, but was launched with {2}",
        launch.entry, std::min(maxThreads, kMaxThreads), launch.threads));
  if (launch.dynamicSharedBytes > kSharedLimit)
    return llvm::createStringError(llvm::formatv(
        "kernel '{0}' was launched with {1} bytes of dynamic shared memory; a "
        "block has at most {2}",
        launch.entry, launch.dynamicSharedBytes, kSharedLimit));
  return llvm::Error::success();
}

/// FUSEC_EMULATOR_COMPLETION: "late", "issue" or "random:SEED".
static llvm::Error readEnvironment(EmulatorRunOptions &options) {
  const char *value = std::getenv("FUSEC_EMULATOR_COMPLETION");
  if (!value || !*value)
    return llvm::Error::success();
  llvm::StringRef text = value;
  if (text == "late") {
    options.completion = EmulatorCompletion::Late;
  } else if (text == "issue") {
    options.completion = EmulatorCompletion::Issue;
  } else if (text.consume_front("random:") &&
             !text.getAsInteger(10, options.seed)) {
    options.completion = EmulatorCompletion::Random;
  } else {
    return llvm::createStringError(
        llvm::Twine("FUSEC_EMULATOR_COMPLETION: expected late, issue or "
                    "random:SEED, found '") +
        value + "'");
  }
  return llvm::Error::success();
}

llvm::Error EmulatorModule::launch(const EmulatorLaunch &launch,
                                   llvm::ArrayRef<EmulatorBuffer> buffers,
                                   const EmulatorRunOptions &options) const {
  auto found = impl->entries.find(launch.entry);
  if (found == impl->entries.end())
    return llvm::createStringError("the module has no kernel '" + launch.entry +
                                   "'");
  if (llvm::Error error = checkLaunch(launch, found->second.threads))
    return error;
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (blocks == 0)
    return llvm::Error::success();

  std::vector<EmulatorBuffer> sorted(buffers.begin(), buffers.end());
  llvm::sort(sorted, addressLess);
  EmulatorRunOptions actual = options;
  if (llvm::Error error = readEnvironment(actual))
    return error;
  LaunchState state{launch, actual, sorted, found->second.run, impl->checks};
  if (found->second.grid || launch.cooperative)
    state.together = blocks;
  if (llvm::Error error =
          checkTogether(launch, found->second.cluster, blocks, state))
    return error;

  if (state.checks)
    state.global.start(sorted, blocks / state.cluster);

  unsigned wanted = options.osThreads ? options.osThreads
                                      : std::thread::hardware_concurrency();
  uint64_t workers = std::clamp<uint64_t>(wanted, 1, kMaxWorkers);
  workers = std::min(workers, blocks / state.together);
  // As many stacks in all as without clusters.
  workers = std::min<uint64_t>(
      workers, std::max<uint64_t>(1, kMaxWorkers / state.together));
  state.workers = static_cast<unsigned>(workers);
  std::mutex errorMutex;
  llvm::Error errors = llvm::Error::success();
  auto work = [&] {
    std::unique_ptr<Worker> worker = impl->takeWorker();
    if (llvm::Error error = worker->run(state)) {
      std::lock_guard<std::mutex> lock(errorMutex);
      errors = llvm::joinErrors(std::move(errors), std::move(error));
      state.stop = true;
    }
    impl->giveBack(std::move(worker));
  };
  std::vector<std::thread> helpers;
  for (uint64_t i = 1; i < workers; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (errors)
    return errors;
  if (state.faults == 0)
    return llvm::Error::success();
  llvm::sort(state.reports, [](const auto &a, const auto &b) {
    return std::tie(a.block[2], a.block[1], a.block[0], a.thread, a.line) <
           std::tie(b.block[2], b.block[1], b.block[0], b.thread, b.line);
  });
  return llvm::make_error<EmulatorError>(std::move(state.reports),
                                         state.faults);
}
