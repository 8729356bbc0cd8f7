//===- CublasLt.h - products by cuBLASLt ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_CUBLASLT_H
#define FUSEC_LIB_RUNTIME_CUDA_CUBLASLT_H

#include "CublasLtLibrary.h"
#include "fusec/Runtime/Device.h"

namespace fusec::runtime {

/// cuBLASLt on one GPU, whose context is current in all calls. Thread-safe;
/// `multiply` takes no lock.
class CublasLt {
public:
  /// See cublas::Library::open.
  static llvm::Expected<std::unique_ptr<CublasLt>> create(unsigned maxMajor);
  ~CublasLt();

  /// See Device.
  llvm::Expected<std::vector<VendorAlgorithm>>
  algorithms(const MatrixProduct &product, size_t most) const;
  /// Ready but for its first run.
  llvm::Expected<std::unique_ptr<LoadedProduct>>
  load(const MatrixProduct &product, const VendorAlgorithm &algorithm) const;
  llvm::Error multiply(const ProductRequest &request, Stream stream) const;

private:
  explicit CublasLt(std::shared_ptr<const cublas::Library> library)
      : library(std::move(library)) {}
  llvm::Error checkReduction(const cublas::Algorithm &algorithm) const;
  std::string nameOf(const cublas::Algorithm &algorithm) const;

  std::shared_ptr<const cublas::Library> library;
  cublas::Handle handle = nullptr;
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_CUBLASLT_H
