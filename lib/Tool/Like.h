//===- Like.h - compiling as another size was compiled ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_LIKE_H
#define FUSEC_LIB_TOOL_LIKE_H

#include "Options.h"
#include "fusec/Session/Build.h"

namespace fusec::tool {

/// --like --like-dim.
std::vector<OptionSpec> likeOptionSpecs();

/// The compilation whose decisions and kernels are to be taken: of the file
/// that --like names (else of the command's own) with the sizes of `bindings`
/// and, before them, of --like-dim. Null if neither is given.
llvm::Expected<std::shared_ptr<session::PlannedModel>>
parseLike(const Arguments &arguments, const Bindings &bindings,
          const driver::CompileOptions &options);

/// Fails (Usage) where --like and --tune are both given.
llvm::Error checkLikeAndTune(const Arguments &arguments);

/// "like:     10 of 10 kernels are those of the other sizes", a line; empty if
/// nothing was followed.
std::string followedText(const session::Compiled &compiled);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_LIKE_H
