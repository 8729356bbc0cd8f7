//===- ShellWord.h - lines for shells ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tool writes to be copied into a shell, or hands to one, holds paths
// and names that others chose.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_SHELLWORD_H
#define FUSEC_LIB_TOOL_SHELLWORD_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fusec::tool {

/// `text` within single quotes, with `escaped` characters behind a backslash.
std::string singleQuoted(llvm::StringRef text, llvm::StringRef escaped = "");

/// `text` as one word of a POSIX shell: as it is if that is one, else quoted.
std::string shellWord(llvm::StringRef text);

/// A path as a word that no program takes for an option.
std::string shellPath(llvm::StringRef path);

/// True if a shell takes `text` for one word and leaves it as it is.
bool isPlainWord(llvm::StringRef text);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_SHELLWORD_H
