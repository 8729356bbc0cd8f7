//===- LibrarySearch.h - where CUDA's libraries may be ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_LIBRARYSEARCH_H
#define FUSEC_LIB_RUNTIME_CUDA_LIBRARYSEARCH_H

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace fusec::runtime {

/// Names under which to open the library that is called one of `files`, best
/// first: for each of them in turn the bare name, which the loader looks for,
/// then paths in the toolkits that CUDA_HOME and CUDA_PATH name, in
/// /usr/local/cuda* and /opt/cuda, then in `directories` and, as in a Python
/// site-packages folder, their nvidia/*/lib. Paths that do not exist are left
/// out. Without `systemPlaces` `directories` alone.
std::vector<std::string> librariesToTry(llvm::ArrayRef<std::string> files,
                                        llvm::ArrayRef<std::string> directories,
                                        bool systemPlaces);

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_LIBRARYSEARCH_H
