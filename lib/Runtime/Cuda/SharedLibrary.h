//===- SharedLibrary.h - libraries opened at run time -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_SHAREDLIBRARY_H
#define FUSEC_LIB_RUNTIME_CUDA_SHAREDLIBRARY_H

#include "llvm/Support/Error.h"

#include <string>

namespace fusec::runtime {

/// A library that stays open: driver and NVRTC keep threads and handlers of
/// their own, so unloading them is not safe.
class SharedLibrary {
public:
  /// Opens by path or, without a slash, by the loader's rules. Symbols stay
  /// private to us.
  static llvm::Expected<SharedLibrary> open(const std::string &name);

  /// Null if there is no such symbol.
  void *symbol(const char *name) const;

  /// Sets `function` to the first of `names` that exists.
  template <typename Function>
  bool find(Function *&function, std::initializer_list<const char *> names) {
    for (const char *name : names)
      if (void *address = symbol(name)) {
        function = reinterpret_cast<Function *>(address);
        return true;
      }
    return false;
  }

private:
  void *handle = nullptr;
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_SHAREDLIBRARY_H
