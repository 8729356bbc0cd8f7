//===- Fusec.cpp - the main of fusec --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Version.h"
#include "fusec/Tool/Tool.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec::tool;
using llvm::StringRef;

std::vector<CommandSpec> fusec::tool::allCommands() {
  return {compileCommand(), runCommand(),       verifyCommand(),
          explainCommand(), benchCommand(),     fuzzCommand(),
          reduceCommand(),  infoCommand(),      devicesCommand(),
          cacheCommand(),   completionCommand()};
}

static void printMainHelp(llvm::raw_ostream &os) {
  os << "fusec cuts operator graphs into regions, makes one GPU kernel per "
        "region and runs them.\n\n"
        "usage: fusec COMMAND ... (fusec COMMAND --help for options and "
        "examples)\n\n";
  for (const CommandSpec &command : allCommands())
    os << "  " << llvm::left_justify(command.name, 12) << command.brief << '\n';
  os << "\nexit codes:\n";
  for (auto [code, meaning] : exitCodes())
    os << "  " << static_cast<int>(code) << "  " << meaning << '\n';
  os << "\nfirst steps:\n"
        "  fusec info\n"
        "  fusec verify test/models/mnist_cnn\n"
        "  fusec explain test/models/mnist_cnn/model.onnx\n"
        "  fusec explain test/models/mnist_cnn/model.onnx --html=plan.html\n"
        "  source <(fusec completion bash)\n";
}

static llvm::Expected<ExitCode> dispatch(llvm::ArrayRef<StringRef> args) {
  if (args.empty())
    return toolError(ExitCode::Usage, "expected a command",
                     "'fusec --help' lists them");
  StringRef word = args.front();
  // "fusec help run" is "fusec run --help".
  static constexpr StringRef kHelp[] = {"--help"};
  if (word == "help" && args.size() > 1) {
    word = args[1];
    args = kHelp;
  } else if (word == "--help" || word == "-h" || word == "help") {
    printMainHelp(llvm::outs());
    return ExitCode::Ok;
  } else {
    args = args.drop_front();
  }
  if (word == "--version") {
    llvm::outs() << "fusec " << versionText() << '\n';
    return ExitCode::Ok;
  }
  std::vector<CommandSpec> all = allCommands();
  llvm::SmallVector<StringRef> names;
  for (const CommandSpec &command : all)
    names.push_back(command.name);
  const auto *it = llvm::find(names, word);
  if (it == names.end()) {
    std::string remedy = "'fusec --help' lists the commands";
    if (auto name = nearest(word, names))
      remedy = ("did you mean 'fusec " + *name + "'? ").str() + remedy;
    return toolError(ExitCode::Usage, "unknown command " + quoted(word),
                     remedy);
  }
  const CommandSpec &command = all[it - names.begin()];
  llvm::Expected<Arguments> arguments = Arguments::parse(command, args);
  if (!arguments)
    return arguments.takeError();
  if (arguments->has("help") || arguments->has("h")) {
    printHelp(llvm::outs(), command);
    return ExitCode::Ok;
  }
  return command.run(*arguments);
}

int fusec::tool::fusecMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::SmallVector<StringRef> args(argv + std::min(argc, 1), argv + argc);
  ExitCode code = ExitCode::Ok;
  if (llvm::Expected<ExitCode> result = dispatch(args))
    code = *result;
  else
    code = report(result.takeError());
  // An error that stays unseen would abort when the stream is destroyed.
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "fusec: error: cannot write to stdout: "
                 << llvm::outs().error().message() << '\n';
    llvm::outs().clear_error();
    code = ExitCode::Usage;
  }
  llvm::errs().clear_error();
  return static_cast<int>(code);
}
