//===- Version.h - the version of fusec -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_VERSION_H
#define FUSEC_LIB_TOOL_VERSION_H

#include "fusec-c/base.h"
#include <string>

namespace fusec::tool {

/// "0.1.0", that of the library.
inline std::string versionText() {
  return std::to_string(FUSEC_VERSION_MAJOR) + '.' +
         std::to_string(FUSEC_VERSION_MINOR) + '.' +
         std::to_string(FUSEC_VERSION_PATCH);
}

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_VERSION_H
