//===- Fusec.cpp - the main of fusec --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "fusec/Tool/Tool.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec::tool;
using llvm::StringRef;

static const char kVersion[] = "fusec 0.1.0\n";

static std::vector<CommandSpec> commands() {
  return {compileCommand(), runCommand(),   verifyCommand(),
          explainCommand(), benchCommand(), devicesCommand(),
          cacheCommand()};
}

static void printMainHelp(llvm::raw_ostream &os) {
  os << "fusec cuts operator graphs into regions, makes one GPU kernel per "
        "region and runs them.\n\n"
        "usage: fusec COMMAND ... (fusec COMMAND --help for options and "
        "examples)\n\n"
        "  compile  graph to IR of any stage, CUDA C++, PTX, cubin\n"
        "  run      compile and run; inputs from files or random\n"
        "  verify   run ONNX test folders and compare with their outputs\n"
        "  explain  which ops became which kernel, and why others did not "
        "fuse\n"
        "  bench    device time of a graph\n"
        "  devices  GPUs, driver and NVRTC of this machine\n"
        "  cache    the compiled kernels kept on disk\n\n"
        "exit codes:\n"
        "  0  everything worked\n"
        "  1  a result is wrong (verify), or damage was found (cache)\n"
        "  2  the command line or an input file is not right\n"
        "  3  the input is right, but fusec cannot do it yet\n"
        "  4  the device, driver or compiler that was asked for is missing\n"
        "  5  a kernel failed to compile or run, or a case of verify crashed "
        "or "
        "ran\n     out of time\n\n"
        "first steps:\n"
        "  fusec devices\n"
        "  fusec verify test/models/mnist_cnn\n"
        "  fusec explain test/models/mnist_cnn/model.onnx\n";
}

static llvm::Expected<ExitCode> dispatch(llvm::ArrayRef<StringRef> args) {
  if (args.empty())
    return toolError(ExitCode::Usage, "expected a command",
                     "'fusec --help' lists them");
  StringRef word = args.front();
  if (word == "--help" || word == "-h" || word == "help") {
    printMainHelp(llvm::outs());
    return ExitCode::Ok;
  }
  if (word == "--version") {
    llvm::outs() << kVersion;
    return ExitCode::Ok;
  }
  std::vector<CommandSpec> all = commands();
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
  llvm::Expected<Arguments> arguments =
      Arguments::parse(command, args.drop_front());
  if (!arguments)
    return arguments.takeError();
  if (arguments->has("help") || arguments->has("h")) {
    printHelp(llvm::outs(), command);
    return ExitCode::Ok;
  }
  if (command.maxPositionals && arguments->positionals.empty())
    return toolError(ExitCode::Usage,
                     "fusec " + command.name + ": expected " + command.usage,
                     "'fusec " + command.name + " --help' has examples");
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
