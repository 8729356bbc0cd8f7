//===- VendorDevice.h - the emulator with a vendor's library ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_TUNE_VENDORDEVICE_H
#define FUSEC_TEST_UNIT_TUNE_VENDORDEVICE_H

#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Support/HostTensor.h"

#include <cstring>

namespace fusec::tune {

/// Runs kernels in the emulator and products of f16 naively; the algorithm
/// whose first word is `wrong` is off by one element, and that of `dropsNaN`
/// has a ReLU that makes NaN 0.
class VendorDevice : public runtime::Device {
public:
  struct Product : runtime::LoadedProduct {
    runtime::MatrixProduct product;
    uint64_t id = 0;
  };

  VendorDevice() {
    runtime::EmulatorDeviceOptions options;
    // Products are written through host pointers.
    options.trackInitialised = false;
    emulator = runtime::createEmulatorDevice(options);
  }

  llvm::Expected<std::vector<runtime::VendorAlgorithm>>
  vendorAlgorithms(const runtime::MatrixProduct &product,
                   size_t most) override {
    asked.push_back(product);
    if (!problem.empty())
      return llvm::createStringError(problem);
    std::vector<runtime::VendorAlgorithm> result;
    for (uint64_t id = 1; id <= std::min<uint64_t>(count, most); ++id)
      result.push_back({"vendor " + std::to_string(id), version, {id}, 300});
    return result;
  }
  llvm::Expected<std::unique_ptr<runtime::LoadedProduct>>
  loadProduct(const runtime::MatrixProduct &product,
              const runtime::VendorAlgorithm &algorithm) override {
    if (algorithm.version != version)
      return llvm::createStringError("another version");
    auto loaded = std::make_unique<Product>();
    loaded->product = product;
    loaded->id = algorithm.words[0];
    return loaded;
  }
  llvm::Error multiply(const runtime::ProductRequest &request,
                       runtime::Stream) override {
    const auto &loaded = static_cast<const Product &>(*request.product);
    const runtime::MatrixProduct &p = loaded.product;
    ++products;
    auto at = [](const runtime::MatrixProduct::Matrix &matrix, int64_t b,
                 int64_t outer, int64_t k) {
      return b * matrix.batchPitch + (matrix.alongSum
                                          ? outer * matrix.pitch + k
                                          : k * matrix.pitch + outer);
    };
    auto *lhs = static_cast<const _Float16 *>(request.lhs);
    auto *rhs = static_cast<const _Float16 *>(request.rhs);
    auto *out = static_cast<_Float16 *>(request.result);
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t m = 0; m < p.m; ++m)
        for (int64_t n = 0; n < p.n; ++n) {
          float sum = 0;
          for (int64_t k = 0; k < p.k; ++k)
            sum +=
                float(lhs[at(p.lhs, b, m, k)]) * float(rhs[at(p.rhs, b, n, k)]);
          if (p.addend)
            sum += float(static_cast<const _Float16 *>(
                request.addend)[b * p.addend->batchPitch + m * p.addend->pitch +
                                n]);
          if (p.bias)
            sum += float(static_cast<const _Float16 *>(request.bias)[n]);
          if (p.activation == runtime::VendorActivation::Relu &&
              (loaded.id == dropsNaN ? !(sum > 0) : sum < 0))
            sum = 0;
          out[b * p.result.batchPitch + m * p.result.pitch + n] = _Float16(sum);
        }
    if (loaded.id == wrong)
      out[0] += _Float16(1);
    return llvm::Error::success();
  }

  const runtime::DeviceInfo &info() const override { return emulator->info(); }
  llvm::Expected<void *> allocate(uint64_t bytes) override {
    return emulator->allocate(bytes);
  }
  void free(void *memory) override { emulator->free(memory); }
  llvm::Error copyIn(void *to, const void *from, uint64_t bytes,
                     runtime::Stream stream) override {
    return emulator->copyIn(to, from, bytes, stream);
  }
  llvm::Error copyOut(void *to, const void *from, uint64_t bytes,
                      runtime::Stream stream) override {
    return emulator->copyOut(to, from, bytes, stream);
  }
  llvm::Error copy(void *to, const void *from, uint64_t bytes,
                   runtime::Stream stream) override {
    return emulator->copy(to, from, bytes, stream);
  }
  llvm::Error fill(void *to, uint8_t value, uint64_t bytes,
                   runtime::Stream stream) override {
    return emulator->fill(to, value, bytes, stream);
  }
  llvm::Expected<std::unique_ptr<runtime::LoadedModule>>
  loadModule(llvm::ArrayRef<runtime::Kernel> kernels) override {
    return emulator->loadModule(kernels);
  }
  llvm::Error launch(const runtime::LaunchRequest &request,
                     runtime::Stream stream) override {
    return emulator->launch(request, stream);
  }
  llvm::Error encodeTensorMap(const runtime::TensorMapArg &map, void *base,
                              void *to) const override {
    return emulator->encodeTensorMap(map, base, to);
  }
  llvm::Error synchronize(runtime::Stream stream) override {
    return emulator->synchronize(stream);
  }

  std::shared_ptr<runtime::Device> emulator;
  uint64_t version = 130100, count = 8, wrong = 0, dropsNaN = 0;
  std::string problem;
  std::vector<runtime::MatrixProduct> asked;
  unsigned products = 0;
};

} // namespace fusec::tune

#endif // FUSEC_TEST_UNIT_TUNE_VENDORDEVICE_H
