//===- Executable.cpp - loading a program onto a device -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Executable.h"

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

// Alignment of constants in their shared allocation; that of an allocation.
static constexpr uint64_t kConstantAlignment = 256;

// A limit of zero means that the device states none.
static bool exceeds(uint64_t value, uint64_t limit) {
  return limit != 0 && value > limit;
}

static Error checkKernel(const Kernel &kernel, const DeviceInfo &info) {
  if (exceeds(kernel.threads, info.maxThreadsPerBlock))
    return llvm::createStringError(
        "kernel '%s': device '%s' allows %u threads per block, found %u",
        kernel.entry.c_str(), info.name.c_str(), info.maxThreadsPerBlock,
        kernel.threads);
  if (kernel.cluster > 1 && exceeds(kernel.cluster, info.maxClusterBlocks))
    return llvm::createStringError(
        "kernel '%s': device '%s' allows %u blocks per cluster, found %u",
        kernel.entry.c_str(), info.name.c_str(), info.maxClusterBlocks,
        kernel.cluster);
  return Error::success();
}

static Error checkLaunch(const Launch &launch, const LoadedKernel &kernel,
                         const DeviceInfo &info) {
  for (unsigned dim = 0; dim < 3; ++dim)
    if (exceeds(launch.grid[dim], info.maxGrid[dim]))
      return llvm::createStringError(
          "kernel '%s': device '%s' allows %llu blocks in dimension %u, found "
          "%u",
          kernel.entry.c_str(), info.name.c_str(),
          static_cast<unsigned long long>(info.maxGrid[dim]), dim,
          launch.grid[dim]);
  uint64_t shared = uint64_t(launch.dynamicSharedBytes) +
                    kernel.resources.staticSharedBytes.value_or(0);
  if (exceeds(shared, info.sharedPerBlock))
    return llvm::createStringError(
        "kernel '%s': device '%s' has %llu bytes of shared memory per block, "
        "found %llu",
        kernel.entry.c_str(), info.name.c_str(),
        static_cast<unsigned long long>(info.sharedPerBlock),
        static_cast<unsigned long long>(shared));
  return Error::success();
}

// Everything that can be refused before any compilation.
static Error checkBeforeLoading(const Program &program,
                                const DeviceInfo &info) {
  if (Error error = verifyProgram(program))
    return error;
  for (const Kernel &kernel : program.kernels)
    if (Error error = checkKernel(kernel, info))
      return error;
  for (const Step &step : program.steps)
    if (const auto *call = std::get_if<HostCall>(&step);
        call && !info.hostMemory)
      return llvm::createStringError("device '%s' cannot run host call '%s'",
                                     info.name.c_str(), call->what.c_str());
  return Error::success();
}

Error Executable::uploadConstants() {
  std::vector<uint64_t> offsets;
  uint64_t total = 0;
  for (const Constant &constant : code.constants) {
    offsets.push_back(total);
    // Sizes fit 63 bits each; their sum is checked.
    uint64_t bytes = constant.bytes->size();
    if (__builtin_add_overflow(total, bytes, &total) ||
        total > INT64_MAX - kConstantAlignment)
      return llvm::createStringError(
          "constants together do not fit 63 bits of bytes");
    total = (total + kConstantAlignment - 1) & -kConstantAlignment;
  }
  Expected<Buffer> memory = Buffer::allocate(target, total);
  if (!memory)
    return memory.takeError();
  constantMemory = std::move(*memory);
  for (auto [constant, offset] : llvm::zip_equal(code.constants, offsets)) {
    uint64_t bytes = constant.bytes->size();
    void *to = bytes ? static_cast<std::byte *>(constantMemory.data()) + offset
                     : nullptr;
    constants.push_back(to);
    if (!bytes)
      continue;
    if (Error error =
            target->copyIn(to, constant.bytes->data(), bytes, nullptr))
      return llvm::createStringError("constant '%s': %s",
                                     constant.spec.name.c_str(),
                                     llvm::toString(std::move(error)).c_str());
  }
  // Contexts run on other streams, so the upload must be over.
  return constants.empty() ? Error::success() : target->synchronize(nullptr);
}

// Equal calls, those of a net's layers, share what is loaded.
void Executable::loadProducts() {
  std::vector<
      std::pair<const VendorCall *, std::shared_ptr<const LoadedProduct>>>
      known;
  for (auto [index, step] : llvm::enumerate(code.steps)) {
    const auto *launch = std::get_if<Launch>(&step);
    if (!launch || !launch->vendor || llvm::is_contained(launch->grid, 0u))
      continue;
    const VendorCall &call = *launch->vendor;
    auto same = llvm::find_if(known, [&](const auto &other) {
      return other.first->product == call.product &&
             other.first->algorithm == call.algorithm;
    });
    if (same == known.end()) {
      auto loaded = target->loadProduct(call.product, call.algorithm);
      known.emplace_back(&call, nullptr);
      same = std::prev(known.end());
      if (loaded)
        same->second = std::move(*loaded);
      else
        whyNoVendor = llvm::toString(loaded.takeError());
    }
    if (!same->second)
      continue;
    products.resize(index + 1);
    products[index] = same->second;
  }
}

const LoadedKernel *
Executable::findVariant(size_t index, const KernelVariant &variant) const {
  if (variant == KernelVariant())
    return &kernel(index);
  std::lock_guard<std::mutex> lock(mutex);
  auto it = variants.find({index, variant});
  return it == variants.end() ? nullptr : &it->second->kernel(0);
}

Expected<const LoadedKernel *>
Executable::makeVariant(size_t index, const KernelVariant &variant) const {
  if (const LoadedKernel *known = findVariant(index, variant))
    return known;
  Kernel changed = code.kernels[index];
  changed.alignment = variant.alignment;
  changed.inPlace = variant.inPlace;
  changed.rolledColumns = variant.rolledColumns;
  changed.rolledUnit = variant.rolledUnit;
  changed.rolledFirst = variant.rolledFirst;
  // Not under the lock: other threads go on with the variants that exist.
  auto module = target->loadModule(changed);
  if (!module)
    return module.takeError();
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, isNew] = variants.try_emplace({index, variant}, nullptr);
  if (isNew)
    it->second = std::move(*module);
  return &it->second->kernel(0);
}

Expected<std::shared_ptr<const Executable>>
Executable::create(Program program, std::shared_ptr<Device> device) {
  if (Error error = checkBeforeLoading(program, device->info()))
    return std::move(error);
  std::shared_ptr<Executable> result(
      new Executable(std::move(program), std::move(device)));
  auto module = result->target->loadModule(result->code.kernels);
  if (!module)
    return module.takeError();
  result->module = std::move(*module);
  for (const Step &step : result->code.steps)
    if (const auto *launch = std::get_if<Launch>(&step))
      if (Error error = checkLaunch(*launch, result->kernel(launch->kernel),
                                    result->target->info()))
        return std::move(error);
  result->loadProducts();
  if (Error error = result->uploadConstants())
    return std::move(error);
  return result;
}

Expected<std::shared_ptr<const Executable>>
Executable::withOwnConstants() const {
  std::shared_ptr<Executable> result(new Executable(code, target));
  result->module = module;
  result->products = products;
  result->whyNoVendor = whyNoVendor;
  if (Error error = result->uploadConstants())
    return std::move(error);
  return result;
}
