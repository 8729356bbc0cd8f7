//===- ReduceCommand.cpp - fusec reduce -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every case that the reducer tries runs in a child process, which judges it:
// it may crash or hang. This process opens no device.
//===----------------------------------------------------------------------===//
#include "ChildProcess.h"
#include "Commands.h"
#include "Inputs.h"
#include "Prepare.h"
#include "Progress.h"
#include "ReduceCheck.h"
#include "Report.h"
#include "SaveCase.h"
#include "ShellWord.h"
#include "fusec/Reduce/Reduce.h"
#include "fusec/Verify/Ways.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using llvm::json::Object;
using verify::Outcome;

namespace {
/// What a case must do to count as failing.
struct Wanted {
  /// A kind of ReduceCheck.h, or a command.
  std::string check;
  std::string target;
  /// Of a case, after which it hangs; of a case that is slow.
  double limit = 60, slow = 1;
  const Arguments &arguments;
};
} // namespace

//===----------------------------------------------------------------------===//
// In a child
//===----------------------------------------------------------------------===//

/// The judgement of a case as a word; "slow" where it took long.
static std::string judgeCase(const Wanted &wanted, const fuzz::Case &subject) {
  auto target = openTarget(wanted.target, wanted.arguments.value("arch"),
                           kernelCache(wanted.arguments), true);
  if (!target)
    return llvm::toString(target.takeError());
  auto options = parseCompileOptions(wanted.arguments, target->info);
  if (!options)
    return llvm::toString(options.takeError());
  std::vector<reference::Bounds> bounds;
  if (wanted.check == "wrong") {
    auto found = reference::evaluateBounds(
        const_cast<Model &>(subject.model).function(), subject.inputs);
    if (!found)
      return llvm::toString(found.takeError());
    bounds = std::move(*found);
  }
  auto begin = std::chrono::steady_clock::now();
  auto outputs = verify::runWay(subject.model, verify::Way{*target, *options},
                                subject.inputs);
  std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  if (!outputs)
    return name(verify::judge(outputs.takeError()).outcome).str();
  if (wanted.check == "slow" && used.count() > wanted.slow)
    return "slow";
  return name(verify::judge(subject.model.outputs, bounds, *outputs).outcome)
      .str();
}

/// Writes the case to a folder and asks the command; 0 means that it fails.
static std::string askCommand(const Wanted &wanted, const fuzz::Case &subject) {
  llvm::SmallString<64> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("fusec-reduce", folder))
    return error.message();
  std::string result = "passes";
  if (llvm::Error error = saveCase(subject, folder, "", ""))
    result = llvm::toString(std::move(error));
  else if (std::string graph = (folder + "/graph.mlir").str();
           std::system((wanted.check + " " + shellPath(graph)).c_str()) == 0)
    result = wanted.check;
  llvm::sys::fs::remove_directories(folder);
  return result;
}

//===----------------------------------------------------------------------===//
// In the parent
//===----------------------------------------------------------------------===//

/// True if the case does what is wanted.
static bool fails(const Wanted &wanted, const fuzz::Case &subject) {
  auto child = ChildProcess::start([&](llvm::raw_ostream &os) {
    for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
      std::signal(signal, SIG_DFL);
    // What each try says is not for people.
    if (int null = open("/dev/null", O_WRONLY); null >= 0)
      dup2(null, STDERR_FILENO);
    os << (isCheckCommand(wanted.check) ? askCommand(wanted, subject)
                                        : judgeCase(wanted, subject))
       << '\n';
  });
  if (!child) {
    llvm::consumeError(child.takeError());
    return false;
  }
  std::string line;
  switch (child->next(line, wanted.limit)) {
  case ChildProcess::Event::Line:
    return line == wanted.check;
  case ChildProcess::Event::Timeout:
    return wanted.check == "hang";
  case ChildProcess::Event::End:
    return wanted.check == "crash";
  }
  return false;
}

/// The graph and inputs of the command line.
static llvm::Expected<fuzz::Case> readCase(const Arguments &arguments) {
  llvm::Expected<Subject> subject = readSubject(arguments);
  if (!subject)
    return subject.takeError();
  return fuzz::Case{std::move(subject->model), std::move(subject->inputs)};
}

/// Leaves out each optional pass by itself: without the one at fault the case
/// is right. Empty if there is none.
static std::string passAtFault(const Wanted &wanted,
                               const fuzz::Case &subject) {
  for (const driver::OptionalPass &pass : driver::optionalPasses()) {
    Arguments arguments = wanted.arguments.with("disable-pass", pass.name);
    Wanted without{wanted.check, wanted.target, wanted.limit, wanted.slow,
                   arguments};
    if (!fails(without, subject))
      return pass.name.str();
  }
  return "";
}

/// The options that a run of the result needs.
static std::string optionsText(const Wanted &wanted) {
  std::string text = " --target=" + wanted.target;
  for (const OptionSpec &option : compileOptionSpecs())
    for (StringRef value : wanted.arguments.values(option.name))
      text += " " + spelled(option.name) +
              (option.value.empty() ? "" : "=" + shellWord(value));
  return text;
}

static llvm::Error saveResult(const fuzz::Case &smallest, const Wanted &wanted,
                              StringRef folder, StringRef what) {
  std::string options = optionsText(wanted);
  if (llvm::Error error = saveCase(smallest, folder, what, options))
    return error;
  if (wanted.target != "cuda" && wanted.target != "emulator")
    return llvm::Error::success();
  // The kernels as they are: in a child, as compiling may be what fails.
  auto child = ChildProcess::start([&](llvm::raw_ostream &) {
    auto info = targetInfo(wanted.arguments.value("arch"));
    auto copy = fuzz::clone(smallest);
    if (!info || !copy)
      return;
    auto compile = parseCompileOptions(wanted.arguments, *info);
    if (!compile)
      return;
    auto compiled = compileModel(copy->model, *compile, {});
    if (!compiled)
      return;
    std::string text;
    for (const runtime::Kernel &kernel : compiled->compilation.program.kernels)
      text += kernel.source + "\n";
    llvm::consumeError(writeOutput((folder + "/kernels.cu").str(), text));
  });
  if (!child)
    return withCode(ExitCode::Failed, child.takeError());
  std::string line;
  child->next(line, wanted.limit);
  return llvm::Error::success();
}

static Object toJson(const reduce::Report &report, StringRef check,
                     StringRef pass, StringRef folder) {
  return Object{{"check", jsonText(check)},
                {"tried", report.tried},
                {"kept", report.kept},
                {"ops_before", report.opsBefore},
                {"ops_after", report.opsAfter},
                {"elements_before", report.elementsBefore},
                {"elements_after", report.elementsAfter},
                {"time_over", report.timeOver},
                {"pass", pass},
                {"out", jsonText(folder)}};
}

static llvm::Expected<ExitCode> runReduce(const Arguments &arguments) {
  Wanted wanted{arguments.value("check", "wrong").str(),
                arguments.value("target", "host").str(), 60, 1, arguments};
  if (llvm::Error error = validateCheck(wanted.check))
    return error;
  reduce::Options options;
  for (auto [name, field, otherwise] :
       {std::tuple("timeout", &wanted.limit, 60.0),
        std::tuple("slow", &wanted.slow, 1.0),
        std::tuple("time", &options.seconds, 300.0)}) {
    llvm::Expected<double> value = arguments.number(name, otherwise);
    if (!value)
      return value.takeError();
    *field = *value;
  }
  std::string folder = arguments.value("out", "reduced").str();
  if (llvm::Error error = makeFolder(folder))
    return error;
  llvm::Expected<fuzz::Case> subject = readCase(arguments);
  if (!subject)
    return subject.takeError();
  Progress progress(arguments);
  options.progress = [&](StringRef what, int64_t ops, int64_t elements) {
    progress.show(llvm::Twine(ops) + " ops, " + llvm::Twine(elements) +
                  " elements: " + what);
  };
  reduce::Report report;
  auto smallest = reduce::reduce(
      *subject,
      [&](const fuzz::Case &candidate) { return fails(wanted, candidate); },
      options, report);
  progress.clear();
  if (!smallest)
    return withCode(ExitCode::Usage, smallest.takeError());
  std::string pass = isCheckCommand(wanted.check) || wanted.check == "hang"
                         ? ""
                         : passAtFault(wanted, *smallest);
  std::string what = "reduced; check: " + wanted.check;
  if (!pass.empty())
    what += "\nnot so with --disable-pass=" + pass;
  if (llvm::Error error = saveResult(*smallest, wanted, folder, what))
    return error;
  if (arguments.has("json")) {
    printJson(::toJson(report, wanted.check, pass, folder));
    return ExitCode::Ok;
  }
  llvm::outs() << llvm::format(
      "reduce: %lld -> %lld ops, %lld -> %lld input elements; %lld cases "
      "tried%s\n",
      static_cast<long long>(report.opsBefore),
      static_cast<long long>(report.opsAfter),
      static_cast<long long>(report.elementsBefore),
      static_cast<long long>(report.elementsAfter),
      static_cast<long long>(report.tried),
      report.timeOver ? "; the time was not enough" : "");
  if (!pass.empty())
    llvm::outs() << "it is gone with --disable-pass=" << pass << '\n';
  llvm::outs() << "written to " << quoted(folder) << '\n';
  return ExitCode::Ok;
}

static constexpr StringRef kTargets[] = {"cuda", "host", "emulator"};

CommandSpec fusec::tool::reduceCommand() {
  return {
      "reduce",
      "find the smallest graph that still fails",
      "MODEL [options]",
      "Makes a graph file (.onnx, .mlir) and its inputs smaller as long as "
      "they "
      "still fail:\nfewer ops and outputs, smaller sizes, plainer types and "
      "values. Every try runs in a\nchild process. Writes graph.mlir, inputs "
      "and "
      "a line that runs them to DIR, for GPU\nkernels also their text, and "
      "says "
      "without which optional pass the fault is gone.",
      concat<OptionSpec>(
          {{{"check", "CHECK",
             "wrong (out of its bounds; default), failed, crash, hang, slow, "
             "or a command:\nit gets the path of graph.mlir (inputs beside "
             "it) and exits with 0 while the\nfault is there"},
            {"target", "TARGET", "where it fails (default: host)", false,
             kTargets},
            {"time", "SECONDS", "stop after that long (default: 300)"},
            {"timeout", "SECONDS",
             "a try that takes longer hangs (default: 60)"},
            {"slow", "SECONDS",
             "a try that takes longer is slow, compiling included "
             "(default: 1)"},
            {"out", "DIR", "for the result (default: reduced)"}},
           inputOptionSpecs(),
           bindingOptionSpecs(),
           compileOptionSpecs(),
           {{"json", "", "report as JSON"}},
           commonOptionSpecs()}),
      {{"fusec reduce softmax.mlir --check=\"grep -q graph.exp\"",
        "the smallest graph that still holds an op"},
       {"fusec reduce softmax.mlir --check=slow --slow=0 --time=2",
        "the smallest one that takes any time at all"}},
      1,
      1,
      {},
      runReduce,
      concat<Rule>({{{{"slow"},
                      {given("check", {"slow"})},
                      "no other check asks how long a try takes",
                      "add --check=slow; --timeout is for hangs"},
                     {{"row-block"},
                      {given("target", {"emulator", "cuda"})},
                      "the host, where it fails by default, has no clusters",
                      "add --target=emulator or --target=cuda"}},
                    compileOptionRules()})};
}
