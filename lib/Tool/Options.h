//===- Options.h - options that commands share ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_OPTIONS_H
#define FUSEC_LIB_TOOL_OPTIONS_H

#include "Arguments.h"
#include "Model.h"
#include "Target.h"
#include "fusec/Driver/Compile.h"
#include "fusec/Runtime/Cuda/DiskCache.h"

namespace fusec::tool {

/// --arch --exact --fuse --no-cache.
std::vector<OptionSpec> compileOptionSpecs();
/// Where those act, in every command that has them.
std::vector<Rule> compileOptionRules();
/// --shape --dim.
std::vector<OptionSpec> bindingOptionSpecs();
/// --target.
OptionSpec targetOptionSpec();
/// --quiet --help -h, which every command has.
std::vector<OptionSpec> commonOptionSpecs();

/// The concatenation.
template <typename T>
std::vector<T> concat(std::initializer_list<std::vector<T>> parts) {
  std::vector<T> result;
  for (const std::vector<T> &part : parts)
    result.insert(result.end(), part.begin(), part.end());
  return result;
}

/// What the compile options say; the machine is `info`.
llvm::Expected<driver::CompileOptions>
parseCompileOptions(const Arguments &arguments, const TargetInfo &info);

/// The compiled kernels on disk; null with --no-cache or where the environment
/// wants none.
std::shared_ptr<runtime::DiskCache> kernelCache(const Arguments &arguments);

/// NAME=SIZE, the value of `option`.
llvm::Expected<std::pair<llvm::StringRef, int64_t>>
parseDim(llvm::StringRef option, llvm::StringRef text);

/// What --shape and --dim say.
llvm::Expected<Bindings> parseBindings(const Arguments &arguments);

/// Writes to `path` (- is stdout).
llvm::Error writeOutput(llvm::StringRef path, llvm::StringRef contents);

/// Makes the folder and those above it.
llvm::Error makeFolder(llvm::StringRef path);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_OPTIONS_H
