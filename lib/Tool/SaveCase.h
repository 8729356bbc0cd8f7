//===- SaveCase.h - cases as files ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_SAVECASE_H
#define FUSEC_LIB_TOOL_SAVECASE_H

#include "ToolError.h"
#include "fusec/Fuzz/Generate.h"

namespace fusec::tool {

/// Writes FOLDER/graph.mlir, FOLDER/input_0.npy, ... and FOLDER/README, which
/// says `what` and how to run it with `options`.
llvm::Error saveCase(const fuzz::Case &subject, llvm::StringRef folder,
                     llvm::StringRef what, llvm::StringRef options);

/// The same for the graph of a seed of `fusec fuzz`.
llvm::Error saveSeed(uint64_t seed, llvm::StringRef folder,
                     llvm::StringRef what);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_SAVECASE_H
