//===- package.cpp - all tests and tools in one program -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main of what test/mutation/pack links: static LLVM is in it once. Links
// named after the tools make it one of them, also FileCheck as the lit tests
// use it; under any other name it is all GoogleTest suites.
//===----------------------------------------------------------------------===//
#include "fusec/Tool/Tool.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/FileCheck/FileCheck.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

namespace fusec::test {
void registerTestBuildElements();
void registerTestLowering();
} // namespace fusec::test

/// The main of the GoogleTest suites, renamed.
int testsMain(int argc, char **argv);

static int fail(const llvm::Twine &message) {
  llvm::errs() << "FileCheck: " << message << '\n';
  return 2;
}

/// Options of FileCheck; false if one is not known here.
static bool parse(llvm::ArrayRef<char *> arguments,
                  llvm::FileCheckRequest &request, llvm::StringRef &checks,
                  llvm::StringRef &input) {
  for (llvm::StringRef word : arguments) {
    if (!word.starts_with("-")) {
      checks = word;
      continue;
    }
    auto [name, value] = word.ltrim('-').split('=');
    if (name == "check-prefix" || name == "check-prefixes") {
      llvm::SmallVector<llvm::StringRef> names;
      value.split(names, ',');
      request.CheckPrefixes.insert(request.CheckPrefixes.end(), names.begin(),
                                   names.end());
    } else if (name == "implicit-check-not")
      request.ImplicitCheckNot.push_back(value);
    else if (name == "input-file")
      input = value;
    else if (name == "allow-empty")
      request.AllowEmptyInput = true;
    else if (name == "enable-var-scope")
      request.EnableVarScope = true;
    else if (name == "match-full-lines")
      request.MatchFullLines = true;
    else if (name == "strict-whitespace")
      request.NoCanonicalizeWhiteSpace = true;
    else if (word.starts_with("-D"))
      request.GlobalDefines.push_back(word.drop_front(2));
    else
      return false;
  }
  return true;
}

static int fileCheckMain(int argc, char **argv) {
  llvm::FileCheckRequest request;
  llvm::StringRef checks, input = "-";
  if (!parse({argv + 1, argv + argc}, request, checks, input))
    return fail("an option that this one does not have");
  llvm::StringRef more =
      getenv("FILECHECK_OPTS") ? getenv("FILECHECK_OPTS") : "";
  request.EnableVarScope |= more.contains("--enable-var-scope");
  if (request.CheckPrefixes.empty()) {
    request.CheckPrefixes = {"CHECK"};
    request.IsDefaultCheckPrefix = true;
  }
  request.CommentPrefixes = {"COM", "RUN"};
  auto expected = llvm::MemoryBuffer::getFile(checks, /*IsText=*/true);
  auto given = llvm::MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
  if (!expected || !given)
    return fail("cannot read '" + checks + "' or its input");
  if ((*given)->getBufferSize() == 0 && !request.AllowEmptyInput)
    return fail("the input of '" + checks + "' is empty");

  llvm::FileCheck check(request);
  llvm::SourceMgr sources;
  llvm::SmallString<4096> expectedText, givenText;
  llvm::StringRef patterns = check.CanonicalizeFile(**expected, expectedText);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(patterns, checks),
                             llvm::SMLoc());
  if (!check.ValidateCheckPrefixes() || check.readCheckFile(sources, patterns))
    return 2;
  llvm::StringRef text = check.CanonicalizeFile(**given, givenText);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, input),
                             llvm::SMLoc());
  return check.checkInput(sources, text) ? 0 : 1;
}

int main(int argc, char **argv) {
  llvm::StringRef name = argc ? llvm::sys::path::stem(argv[0]) : "";
  if (name == "fusec")
    return fusec::tool::fusecMain(argc, argv);
  if (name == "FileCheck")
    return fileCheckMain(argc, argv);
  if (name == "fusec-opt") {
    mlir::DialectRegistry registry;
    fusec::test::registerTestBuildElements();
    fusec::test::registerTestLowering();
    return fusec::tool::optMain(argc, argv, registry);
  }
  return testsMain(argc, argv);
}
