//===- SaveCase.cpp - cases as files --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SaveCase.h"
#include "Options.h"
#include "ShellWord.h"
#include "fusec/Support/Npy.h"

using namespace fusec;
using namespace fusec::tool;

llvm::Error fusec::tool::saveCase(const fuzz::Case &subject,
                                  llvm::StringRef folder, llvm::StringRef what,
                                  llvm::StringRef options) {
  if (llvm::Error error = makeFolder(folder))
    return error;
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::ModuleOp module =
      const_cast<session::Model &>(subject.model).module.get();
  module.print(os);
  if (llvm::Error error = writeOutput((folder + "/graph.mlir").str(), text))
    return error;
  for (auto [i, input] : llvm::enumerate(subject.inputs))
    if (llvm::Error error = writeNpy(
            (folder + "/input_" + llvm::Twine(i) + ".npy").str(), input))
      return withCode(ExitCode::Usage, std::move(error));
  std::string graph = shellPath((folder + "/graph.mlir").str());
  std::string inputs =
      subject.inputs.empty() ? "" : " --inputs " + shellPath(folder);
  return writeOutput(
      (folder + "/README").str(),
      (what + "\n\nfusec verify --all-ways " + graph + inputs + options + "\n")
          .str());
}

llvm::Error fusec::tool::saveSeed(uint64_t seed, llvm::StringRef folder,
                                  llvm::StringRef what) {
  llvm::Expected<fuzz::Case> subject = fuzz::generate(seed);
  if (!subject)
    return withCode(ExitCode::Failed, subject.takeError());
  return saveCase(*subject, folder, what, "");
}
