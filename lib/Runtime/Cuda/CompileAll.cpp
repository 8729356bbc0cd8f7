//===- CompileAll.cpp - many kernels, few programs ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. Kernels found in memory or on disk, or equal to an earlier one of the
//    call, are done.
// 2. The others are dealt into batches of about equal length, one per thread
//    (more if a batch would get large). Kernels that need other options or the
//    skeleton are in batches of their own.
// 3. Each batch is one program. If it fails, each of its kernels becomes a
//    program of its own, and only those that fail again are reported.
//===----------------------------------------------------------------------===//
#include "CompileText.h"
#include "Cubin.h"
#include "KernelCache.h"
#include "NvrtcLibrary.h"
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
  Impl(std::shared_ptr<const Nvrtc> nvrtc, NvrtcOptions options,
       std::shared_ptr<DiskCache> disk)
      : nvrtc(std::move(nvrtc)), options(std::move(options)),
        disk(std::move(disk)), cache(kCacheBytes),
        environment(hashEnvironment()) {}

  KernelKey hashEnvironment() const;
  KernelKey keyOf(const Kernel &kernel) const;
  std::optional<CompiledKernel> find(const KernelKey &key);
  Expected<TextResult> compileText(llvm::StringRef text, const Kernel &like);
  bool compileBatch(llvm::ArrayRef<Task *> batch);
  void store(llvm::ArrayRef<Task *> batch);
  Error finish(Task &task, const TextResult &text,
               const llvm::StringMap<KernelResources> &kernels) const;
  void compileTasks(llvm::MutableArrayRef<Task> tasks, unsigned threads);

  std::shared_ptr<const Nvrtc> nvrtc;
  NvrtcOptions options;
  std::shared_ptr<DiskCache> disk; // may be null
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
  update(hash, "fusec " FUSEC_VERSION);
  update(hash, std::to_string(nvrtc->majorVersion()) + "." +
                   std::to_string(nvrtc->minorVersion()));
  // Updates of one version differ in the file.
  update(hash, nvrtc->get().identity);
  update(hash, std::to_string(options.driverVersion));
  for (const std::string &option : commandLine(*nvrtc, options))
    update(hash, option);
  update(hash, "headers");
  for (const NvrtcHeader &header : options.headers) {
    update(hash, header.name);
    update(hash, header.text);
  }
  update(hash, options.skeletonHeader);
  update(hash, options.sm90Header);
  return hash.final();
}

KernelKey NvrtcCompiler::Impl::keyOf(const Kernel &kernel) const {
  llvm::SHA256 hash;
  hash.update(llvm::ArrayRef(environment));
  update(hash, kernel.entry);
  update(hash, kernel.source);
  for (uint32_t number :
       {kernel.threads, kernel.cluster, kernel.alignment,
        uint32_t(kernel.usesSkeleton), uint32_t(kernel.inPlace),
        kernel.rolledColumns, kernel.rolledUnit, kernel.rolledFirst,
        uint32_t(kernel.usesSm90)})
    update(hash, std::to_string(number));
  return hash.final();
}

// In memory or on disk. All kernels of a file from disk go to memory, since
// they were compiled together and are likely to be asked for together.
std::optional<CompiledKernel> NvrtcCompiler::Impl::find(const KernelKey &key) {
  auto count = [&](uint64_t Statistics::*counter) {
    std::lock_guard<std::mutex> lock(mutex);
    ++(statistics.*counter);
  };
  if (auto found = cache.find(key)) {
    count(&Statistics::hits);
    return found;
  }
  std::optional<StoredModule> stored;
  if (disk)
    stored = disk->find(key);
  if (!stored)
    return std::nullopt;
  std::optional<CompiledKernel> found;
  for (const StoredKernel &kernel : stored->kernels) {
    CompiledKernel compiled{stored->module, kernel.entry, kernel.resources};
    cache.insert(kernel.key, compiled);
    if (kernel.key == key)
      found = compiled;
  }
  count(&Statistics::diskHits);
  return found;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

// Longest first, each into the batch that is shortest so far.
static std::vector<Batch> dealAlike(llvm::ArrayRef<Task *> tasks,
                                    unsigned threads) {
  size_t count = std::max<size_t>(std::min<size_t>(threads, tasks.size()),
                                  (tasks.size() + kMaxBatch - 1) / kMaxBatch);
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  auto length = [&](size_t i) { return tasks[i]->kernel->source.size(); };
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(length(b), a) < std::pair(length(a), b);
  });
  std::vector<Batch> batches(count);
  std::vector<uint64_t> lengths(count);
  for (size_t i : order) {
    size_t shortest = llvm::min_element(lengths) - lengths.begin();
    batches[shortest].push_back(tasks[i]);
    // A text of no length must not make its batch stay the shortest for ever.
    lengths[shortest] += length(i) + 1;
  }
  return batches;
}

// Kernels of one batch are compiled in the same way.
static std::vector<Batch> dealBatches(llvm::MutableArrayRef<Task> tasks,
                                      unsigned threads) {
  std::map<std::tuple<uint32_t, bool, uint32_t, uint32_t, uint32_t, bool, bool>,
           Batch>
      groups;
  for (Task &task : tasks)
    groups[{task.kernel->alignment, task.kernel->inPlace,
            task.kernel->rolledColumns, task.kernel->rolledUnit,
            task.kernel->rolledFirst, task.kernel->usesSkeleton,
            task.kernel->usesSm90}]
        .push_back(&task);
  std::vector<Batch> batches;
  for (const auto &[how, group] : groups)
    llvm::append_range(batches, dealAlike(group, threads));
  return batches;
}

static void appendText(std::string &text, const Kernel &kernel) {
  // Messages give the line within the kernel's own text.
  text += "#line 1 \"" + kernel.entry + ".cu\"\n";
  text += kernel.source;
  text += "\n";
}

static std::string joinTexts(llvm::ArrayRef<Task *> batch) {
  std::string text;
  for (const Task *task : batch)
    appendText(text, *task->kernel);
  return text;
}

// One call of NVRTC, with what kernels like `like` need.
Expected<TextResult> NvrtcCompiler::Impl::compileText(llvm::StringRef text,
                                                      const Kernel &like) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++statistics.programs;
  }
  std::string before;
  if (like.usesSm90 && !options.sm90Header.empty())
    before += "#include \"" + options.sm90Header + "\"\n";
  if (like.usesSkeleton && !options.skeletonHeader.empty())
    before += "#include \"" + options.skeletonHeader + "\"\n";
  NvrtcOptions changed = options;
  // Compiled fast, dynamic shared memory is aligned to 16 bytes whatever its
  // declaration says; the copy engine and wgmma want 1024.
  changed.fastCompile &= !like.usesSm90;
  if (like.alignment != kBufferAlignment)
    changed.extraOptions.push_back("--define-macro=FUSEC_ALIGNMENT=" +
                                   std::to_string(like.alignment));
  if (like.inPlace)
    changed.extraOptions.push_back("--define-macro=FUSEC_IN_PLACE");
  if (like.rolledColumns) {
    changed.extraOptions.push_back("--define-macro=FUSEC_ROLLED=" +
                                   std::to_string(like.rolledColumns));
    changed.extraOptions.push_back("--define-macro=FUSEC_ROLLED_UNIT=" +
                                   std::to_string(like.rolledUnit));
    if (like.rolledFirst)
      changed.extraOptions.push_back("--define-macro=FUSEC_ROLLED_FIRST=" +
                                     std::to_string(like.rolledFirst));
  }
  return compileWithReport(*nvrtc, "fusec.cu", before + text.str(), changed);
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
  auto text = compileText(joinTexts(batch), *batch.front()->kernel);
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
  store(batch);
  return true;
}

// Writes what a batch gave to disk: one file with a name per kernel.
void NvrtcCompiler::Impl::store(llvm::ArrayRef<Task *> batch) {
  StoredModule stored;
  for (const Task *task : batch) {
    if (!task->result)
      continue;
    stored.module = task->result->module;
    stored.kernels.push_back({task->key, task->result->entry,
                              task->kernel->threads, task->kernel->cluster,
                              task->result->resources});
  }
  if (disk && stored.module)
    disk->insert(stored);
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
                             NvrtcOptions options,
                             std::shared_ptr<DiskCache> disk)
    : impl(std::make_unique<Impl>(std::move(nvrtc), std::move(options),
                                  std::move(disk))) {}
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
  uint64_t repeats = 0;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    KernelKey key = impl->keyOf(kernel);
    auto [it, isNew] = taskByKey.try_emplace(key, tasks.size());
    if (isNew && (found[i] = impl->find(key))) {
      taskByKey.erase(it);
      continue;
    }
    taskOf[i] = it->second;
    if (isNew)
      tasks.push_back({&kernel, key, std::nullopt, ""});
    else
      ++repeats;
  }
  impl->compileTasks(tasks, threadsOrDefault(threads));
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    impl->statistics.hits += repeats;
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

Expected<std::shared_ptr<const CompiledModule>>
NvrtcCompiler::compileTogether(llvm::ArrayRef<Kernel> kernels) {
  // The parts of a kernel that stands for all of them.
  Kernel all;
  for (const Kernel &kernel : kernels) {
    appendText(all.source, kernel);
    all.usesSkeleton |= kernel.usesSkeleton;
    all.usesSm90 |= kernel.usesSm90;
    all.inPlace |= kernel.inPlace;
    all.rolledColumns = kernel.rolledColumns;
    all.rolledUnit = kernel.rolledUnit;
    all.rolledFirst = kernel.rolledFirst;
    all.alignment = std::min(all.alignment, kernel.alignment);
  }
  KernelKey key = impl->keyOf(all);
  if (auto found = impl->find(key))
    return found->module;
  Expected<TextResult> text = impl->compileText(all.source, all);
  if (!text)
    return text.takeError();
  {
    std::lock_guard<std::mutex> lock(impl->mutex);
    impl->statistics.compiled += kernels.size();
  }
  impl->cache.insert(key, {text->module, "", {}});
  StoredKernel whole;
  whole.key = key;
  if (impl->disk)
    impl->disk->insert({text->module, {whole}});
  return text->module;
}
