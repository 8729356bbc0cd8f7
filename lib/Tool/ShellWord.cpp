//===- ShellWord.cpp - lines for shells -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ShellWord.h"
#include "llvm/ADT/StringExtras.h"

using namespace fusec;
using llvm::StringRef;

std::string tool::singleQuoted(StringRef text, StringRef escaped) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      (escaped.contains(c) ? result += '\\' : result) += c;
  }
  return result + "'";
}

bool tool::isPlainWord(StringRef text) {
  return !text.empty() && llvm::all_of(text, [](char c) {
    return llvm::isAlnum(c) || StringRef("_./-+,:@%=").contains(c);
  });
}

std::string tool::shellWord(StringRef text) {
  return isPlainWord(text) ? text.str() : singleQuoted(text);
}

std::string tool::shellPath(StringRef path) {
  return shellWord(path.starts_with("-") ? "./" + path.str() : path.str());
}
