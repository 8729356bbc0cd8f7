//===- CompileAll.cpp - many kernels, few programs ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. Kernels found in memory, or equal to an earlier one of the call, are done.
// 2. The others are dealt into batches of about equal length, one per thread
//    (more if a batch would get large).
// 3. Each batch is one program. If it fails, each of its kernels becomes a
//    program of its own, and only those that fail again are reported.
//===----------------------------------------------------------------------===//
#include "CompileText.h"
#include "Cubin.h"
#include "KernelCache.h"
#include "ParallelFor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SHA256.h"

#include <numeric>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

// Bounds what one failure costs and what one call of NVRTC holds in memory.
static constexpr size_t kMaxBatch = 32;
// About the kernels of a thousand models.
static constexpr uint64_t kCacheBytes = uint64_t(256) << 20;

namespace {
// One kernel to compile: the first of its key in the call.
struct Task {
  const Kernel *kernel;
  KernelKey key;
  std::optional<CompiledKernel> result;
  std::string error;
};
using Batch = std::vector<Task *>;
} // namespace

struct NvrtcCompiler::Impl {
  Impl(std::shared_ptr<const Nvrtc> nvrtc, NvrtcOptions options)
      : nvrtc(std::move(nvrtc)), options(std::move(options)),
        cache(kCacheBytes), environment(hashEnvironment()) {}

  KernelKey hashEnvironment() const;
  KernelKey keyOf(const Kernel &kernel) const;
  bool compileBatch(llvm::ArrayRef<Task *> batch);
  Error finish(Task &task, const TextResult &text,
               const llvm::StringMap<KernelResources> &kernels) const;
  void compileTasks(llvm::MutableArrayRef<Task> tasks, unsigned threads);

  std::shared_ptr<const Nvrtc> nvrtc;
  NvrtcOptions options;
  KernelCache cache;
  // Hash of what is the same for all kernels of this compiler.
  KernelKey environment;
  mutable std::mutex mutex; // guards the statistics
  Statistics statistics;
};

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

// Adds a string with its length, so that neighbours cannot run together.
static void update(llvm::SHA256 &hash, llvm::StringRef text) {
  hash.update(std::to_string(text.size()) + ":");
  hash.update(text);
}

KernelKey NvrtcCompiler::Impl::hashEnvironment() const {
  llvm::SHA256 hash;
  update(hash, std::to_string(nvrtc->majorVersion()) + "." +
                   std::to_string(nvrtc->minorVersion()));
  for (const std::string &option : commandLine(*nvrtc, options))
    update(hash, option);
  update(hash, "headers");
  for (const NvrtcHeader &header : options.headers) {
    update(hash, header.name);
    update(hash, header.text);
  }
  return hash.final();
}

KernelKey NvrtcCompiler::Impl::keyOf(const Kernel &kernel) const {
  llvm::SHA256 hash;
  hash.update(llvm::ArrayRef(environment));
  update(hash, kernel.entry);
  update(hash, kernel.source);
  return hash.final();
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

// Longest first, each into the batch that is shortest so far.
static std::vector<Batch> dealBatches(llvm::MutableArrayRef<Task> tasks,
                                      unsigned threads) {
  size_t count = std::max<size_t>(std::min<size_t>(threads, tasks.size()),
                                  (tasks.size() + kMaxBatch - 1) / kMaxBatch);
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  auto length = [&](size_t i) { return tasks[i].kernel->source.size(); };
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(length(b), a) < std::pair(length(a), b);
  });
  std::vector<Batch> batches(count);
  std::vector<uint64_t> lengths(count);
  for (size_t i : order) {
    size_t shortest = llvm::min_element(lengths) - lengths.begin();
    batches[shortest].push_back(&tasks[i]);
    // A text of no length must not make its batch stay the shortest for ever.
    lengths[shortest] += length(i) + 1;
  }
  return batches;
}

static std::string joinTexts(llvm::ArrayRef<Task *> batch) {
  std::string text;
  for (const Task *task : batch) {
    // Messages give the line within the kernel's own text.
    text += "#line 1 \"" + task->kernel->entry + ".cu\"\n";
    text += task->kernel->source;
    text += "\n";
  }
  return text;
}

Error NvrtcCompiler::Impl::finish(
    Task &task, const TextResult &text,
    const llvm::StringMap<KernelResources> &kernels) const {
  auto it = kernels.find(task.kernel->entry);
  if (it == kernels.end())
    return llvm::createStringError("the text defines no kernel of this name");
  CompiledKernel result{text.module, task.kernel->entry, it->second};
  if (auto spills = text.spills.find(result.entry);
      spills != text.spills.end()) {
    result.resources.spillStoreBytes = spills->second.stores;
    result.resources.spillLoadBytes = spills->second.loads;
  }
  task.result = std::move(result);
  return Error::success();
}

// Compiles a batch as one program. Sets each task's result or error; false if
// the program failed as a whole.
bool NvrtcCompiler::Impl::compileBatch(llvm::ArrayRef<Task *> batch) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++statistics.programs;
  }
  auto text = compileWithReport(*nvrtc, "fusec.cu", joinTexts(batch), options);
  if (!text) {
    batch.front()->error = llvm::toString(text.takeError());
    return false;
  }
  auto kernels = readCubin(text->module->cubin);
  if (!kernels) {
    batch.front()->error = llvm::toString(kernels.takeError());
    return false;
  }
  for (Task *task : batch)
    if (Error error = finish(*task, *text, *kernels))
      task->error = llvm::toString(std::move(error));
  return true;
}

void NvrtcCompiler::Impl::compileTasks(llvm::MutableArrayRef<Task> tasks,
                                       unsigned threads) {
  if (tasks.empty())
    return;
  std::vector<Batch> batches = dealBatches(tasks, threads);
  std::vector<char> failed(batches.size());
  parallelFor(batches.size(), threads,
              [&](size_t i) { failed[i] = !compileBatch(batches[i]); });
  Batch singles;
  for (auto [batch, bad] : llvm::zip_equal(batches, failed))
    if (bad && batch.size() > 1)
      llvm::append_range(singles, batch);
  parallelFor(singles.size(), threads, [&](size_t i) {
    singles[i]->error.clear();
    compileBatch(singles[i]);
  });
}

//===----------------------------------------------------------------------===//
// Public
//===----------------------------------------------------------------------===//

NvrtcCompiler::NvrtcCompiler(std::shared_ptr<const Nvrtc> nvrtc,
                             NvrtcOptions options)
    : impl(std::make_unique<Impl>(std::move(nvrtc), std::move(options))) {}
NvrtcCompiler::~NvrtcCompiler() = default;

const Nvrtc &NvrtcCompiler::nvrtc() const { return *impl->nvrtc; }
const NvrtcOptions &NvrtcCompiler::options() const { return impl->options; }

NvrtcCompiler::Statistics NvrtcCompiler::statistics() const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->statistics;
}

// All errors of the tasks, each with the kernel's name.
static Error collectErrors(llvm::ArrayRef<Task> tasks) {
  Error all = Error::success();
  for (const Task &task : tasks)
    if (!task.error.empty())
      all = llvm::joinErrors(std::move(all),
                             llvm::createStringError("kernel '%s': %s",
                                                     task.kernel->entry.c_str(),
                                                     task.error.c_str()));
  return all;
}

Expected<std::vector<CompiledKernel>>
NvrtcCompiler::compileAll(llvm::ArrayRef<Kernel> kernels, unsigned threads) {
  std::vector<std::optional<CompiledKernel>> found(kernels.size());
  std::vector<size_t> taskOf(kernels.size());
  std::map<KernelKey, size_t> taskByKey;
  std::vector<Task> tasks;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    KernelKey key = impl->keyOf(kernel);
    if ((found[i] = impl->cache.find(key)))
      continue;
    auto [it, isNew] = taskByKey.try_emplace(key, tasks.size());
    taskOf[i] = it->second;
    if (isNew)
      tasks.push_back({&kernel, key, std::nullopt, ""});
  }
  impl->compileTasks(tasks, threadsOrDefault(threads));
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    impl->statistics.hits += kernels.size() - tasks.size();
    impl->statistics.compiled += tasks.size();
  }
  // Good kernels are kept even if others failed.
  for (const Task &task : tasks)
    if (task.result)
      impl->cache.insert(task.key, *task.result);
  if (Error error = collectErrors(tasks))
    return std::move(error);

  std::vector<CompiledKernel> results;
  for (size_t i = 0; i < kernels.size(); ++i)
    results.push_back(found[i] ? std::move(*found[i])
                               : *tasks[taskOf[i]].result);
  return results;
}
