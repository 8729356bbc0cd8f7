//===- SharedLibrary.cpp - libraries opened at run time -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SharedLibrary.h"

#include <dlfcn.h>

using namespace fusec::runtime;

llvm::Expected<SharedLibrary> SharedLibrary::open(const std::string &name) {
  SharedLibrary library;
  library.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle)
    return library;
  const char *reason = dlerror();
  return llvm::createStringError("%s", reason ? reason : name.c_str());
}

void *SharedLibrary::symbol(const char *name) const {
  return dlsym(handle, name);
}
