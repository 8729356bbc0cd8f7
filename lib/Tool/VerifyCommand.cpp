//===- VerifyCommand.cpp - fusec verify -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs test folders in the layout of ONNX's backend tests:
//   CASE/model.onnx, CASE/test_data_set_<n>/{input,output}_<i>.{pb,npy}
// A folder without model.onnx stands for the cases in it.
//
// Each data set runs in a child process, so that one that crashes or hangs is
// a line of the report and not its end. This process opens no device: threads
// and CUDA contexts do not survive a fork.
//===----------------------------------------------------------------------===//
#include "AllWays.h"
#include "ChildProcess.h"
#include "Commands.h"
#include "Inputs.h"
#include "Progress.h"
#include "Report.h"
#include "VerifyCase.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
namespace fs = llvm::sys::fs;

/// Data sets of one process on a GPU, whose context takes longer to make than
/// most of them to run. The process ends early after any that does not pass:
/// a faulty kernel spoils the context.
static constexpr size_t kSetsPerCudaProcess = 64;

static bool isCase(StringRef folder) {
  return fs::exists(folder + "/model.onnx");
}

static llvm::Expected<std::vector<DataSet>>
findDataSets(llvm::ArrayRef<StringRef> folders) {
  std::vector<DataSet> sets;
  for (StringRef folder : folders) {
    while (folder.size() > 1 && folder.ends_with("/"))
      folder = folder.drop_back();
    if (isCase(folder)) {
      llvm::append_range(sets, dataSets(folder));
      continue;
    }
    if (fs::is_regular_file(folder))
      return toolError(ExitCode::Usage,
                       "expected a folder with a test case, found the file " +
                           quoted(folder),
                       "--all-ways takes graph files; 'fusec run' runs one");
    auto inner = subfolders(folder, "");
    if (!inner)
      return inner.takeError();
    size_t before = sets.size();
    for (const std::string &candidate : *inner)
      if (isCase(candidate))
        llvm::append_range(sets, dataSets(candidate));
    if (sets.size() == before)
      return toolError(ExitCode::Usage,
                       "no test case in " + quoted(folder) +
                           ": expected model.onnx in it or in folders in it");
  }
  return sets;
}

//===----------------------------------------------------------------------===//
// The summary
//===----------------------------------------------------------------------===//

namespace {
/// Counts and prints outcomes.
struct Tally {
  bool json;
  std::array<int64_t, 6> counts = {};
  std::array<int64_t, 6> codes = {};
  Array rows = {};

  void add(const DataSet &set, const Outcome &outcome) {
    ++counts[static_cast<size_t>(outcome.verdict)];
    ++codes[static_cast<size_t>(outcome.code)];
    if (json)
      rows.push_back(Object{{"name", jsonText(set.label)},
                            {"outcome", word(outcome.verdict)},
                            {"code", static_cast<int>(outcome.code)},
                            {"message", jsonText(outcome.message)},
                            {"max_relative", outcome.maxRelative},
                            {"max_absolute", outcome.maxAbsolute},
                            {"max_scaled", outcome.maxScaled},
                            {"seconds", outcome.seconds}});
    else
      print(set, outcome);
  }

  void print(const DataSet &set, const Outcome &outcome) {
    llvm::outs() << word(outcome.verdict) << ' ' << set.label;
    if (outcome.verdict == Verdict::Pass)
      llvm::outs() << llvm::format(
          " (largest error %.2g relative, %.2g absolute, %.2g of the largest "
          "element; %.2f s)",
          outcome.maxRelative, outcome.maxAbsolute, outcome.maxScaled,
          outcome.seconds);
    else
      llvm::outs() << ": " << outcome.message;
    llvm::outs() << '\n';
    // Whoever waits, or ends the run early, sees what is done.
    llvm::outs().flush();
  }

  int64_t count(Verdict verdict) const {
    return counts[static_cast<size_t>(verdict)];
  }

  void finish(StringRef target) {
    if (json)
      return printJson(Object{{"target", target},
                              {"cases", std::move(rows)},
                              {"passed", count(Verdict::Pass)},
                              {"failed", count(Verdict::Fail)},
                              {"unsupported", count(Verdict::Unsupported)},
                              {"errors", count(Verdict::Error)},
                              {"crashes", count(Verdict::Crash)},
                              {"timeouts", count(Verdict::Timeout)}});
    llvm::outs() << "verify: " << count(Verdict::Pass) << " passed, "
                 << count(Verdict::Fail) << " failed, "
                 << count(Verdict::Unsupported) << " unsupported, "
                 << count(Verdict::Error) << " errors";
    if (int64_t crashes = count(Verdict::Crash))
      llvm::outs() << ", " << crashes << " crashes";
    if (int64_t timeouts = count(Verdict::Timeout))
      llvm::outs() << ", " << timeouts << " timeouts";
    llvm::outs() << '\n';
  }

  /// The worst outcome: a wrong result before all else.
  ExitCode code() const {
    for (ExitCode code :
         {ExitCode::WrongResult, ExitCode::Failed, ExitCode::Usage,
          ExitCode::NoDevice, ExitCode::Unsupported})
      if (codes[static_cast<size_t>(code)])
        return code;
    return ExitCode::Ok;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Children
//===----------------------------------------------------------------------===//

static llvm::Expected<CaseSettings> openSettings(const Arguments &arguments,
                                                 StringRef targetName) {
  CaseSettings settings;
  llvm::Expected<Target> target =
      openTarget(targetName, arguments.value("arch"), kernelCache(arguments),
                 arguments.has("quiet"));
  if (!target)
    return target.takeError();
  settings.target = std::move(*target);
  auto options = parseCompileOptions(arguments, settings.target.info);
  if (!options)
    return options.takeError();
  settings.options = *options;
  llvm::Expected<ToleranceOptions> tolerance = parseTolerance(arguments);
  if (!tolerance)
    return tolerance.takeError();
  settings.tolerance = *tolerance;
  settings.out = arguments.value("out").str();
  return settings;
}

/// Finds the name of the target that the command line means. A child opens it,
/// which shows whether it is there; it also reports what is wrong with the
/// command line, which gives another code than Ok.
static llvm::Expected<ExitCode> findTarget(const Arguments &arguments,
                                           std::string &target) {
  auto child = ChildProcess::start([&](llvm::raw_ostream &os) {
    auto settings = openSettings(arguments, arguments.value("target"));
    if (settings)
      os << name(settings->target.kind) << '\n';
    else
      os << static_cast<int>(report(settings.takeError())) << '\n';
  });
  if (!child)
    return withCode(ExitCode::Failed, child.takeError());
  if (child->next(target, 0) != ChildProcess::Event::Line)
    return toolError(ExitCode::Failed, "opening the target ended by " +
                                           llvm::Twine(child->wait()));
  int code = 0;
  return StringRef(target).getAsInteger(10, code) ? ExitCode::Ok
                                                  : static_cast<ExitCode>(code);
}

namespace {
/// Runs data sets in children and reports each.
class Runner {
public:
  Runner(const Arguments &arguments, StringRef target, double limit,
         llvm::ArrayRef<DataSet> sets, Tally &tally)
      : arguments(arguments), target(target), limit(limit), sets(sets),
        tally(tally),
        perProcess(target == name(TargetKind::Cuda) ? kSetsPerCudaProcess : 1),
        progress(arguments) {}
  llvm::Error run();

private:
  void work(size_t first, llvm::raw_ostream &os);
  Outcome died(ChildProcess &child, ChildProcess::Event event);

  const Arguments &arguments;
  StringRef target;
  double limit;
  llvm::ArrayRef<DataSet> sets;
  Tally &tally;
  size_t perProcess;
  Progress progress;
};
} // namespace

/// In a child: the data sets from `first` on, while they pass.
void Runner::work(size_t first, llvm::raw_ostream &os) {
  auto settings = openSettings(arguments, target);
  if (!settings) {
    os << toLine(outcomeOf(settings.takeError())) << '\n';
    return;
  }
  for (const DataSet &set : sets.drop_front(first).take_front(perProcess)) {
    Outcome outcome = runDataSet(set, *settings);
    os << toLine(outcome) << '\n';
    if (outcome.verdict != Verdict::Pass)
      return;
  }
}

/// The outcome of the data set during which `child` came to an end.
Outcome Runner::died(ChildProcess &child, ChildProcess::Event event) {
  Outcome outcome;
  outcome.code = ExitCode::Failed;
  if (event == ChildProcess::Event::Timeout) {
    outcome.verdict = Verdict::Timeout;
    outcome.seconds = limit;
    llvm::raw_string_ostream(outcome.message)
        << llvm::format("not done after %g s", limit);
    return outcome;
  }
  outcome.verdict = Verdict::Crash;
  std::string how = child.wait();
  outcome.message =
      "the process ended" + (how.empty() ? " early" : " by " + how);
  return outcome;
}

llvm::Error Runner::run() {
  for (size_t next = 0; next < sets.size();) {
    auto child =
        ChildProcess::start([&](llvm::raw_ostream &os) { work(next, os); });
    if (!child)
      return withCode(ExitCode::Failed, child.takeError());
    size_t end = std::min(sets.size(), next + perProcess);
    for (bool alive = true; alive && next < end; ++next) {
      progress.show(llvm::Twine(next + 1) + " of " + llvm::Twine(sets.size()) +
                    ": " + sets[next].label);
      std::string line;
      ChildProcess::Event event = child->next(line, limit);
      std::optional<Outcome> outcome;
      if (event == ChildProcess::Event::Line)
        outcome = fromLine(line);
      if (!outcome)
        outcome = died(*child, event);
      alive = outcome->verdict == Verdict::Pass;
      progress.clear();
      tally.add(sets[next], *outcome);
    }
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static llvm::Expected<ExitCode> runVerify(const Arguments &arguments) {
  if (arguments.has("all-ways"))
    return verifyAllWays(arguments);
  auto sets = findDataSets(arguments.positionals);
  if (!sets)
    return sets.takeError();
  llvm::Expected<double> limit = arguments.number("timeout", 300);
  if (!limit)
    return limit.takeError();
  std::string target;
  llvm::Expected<ExitCode> code = findTarget(arguments, target);
  if (!code || *code != ExitCode::Ok)
    return code;
  Tally tally{arguments.has("json")};
  if (llvm::Error error = Runner(arguments, target, *limit, *sets, tally).run())
    return error;
  tally.finish(target);
  return tally.code();
}

CommandSpec fusec::tool::verifyCommand() {
  return {
      "verify",
      "compare with stored outputs, or all ways to run a graph",
      "DIR... | MODEL --all-ways [options]",
      "Runs test folders in the layout of ONNX's backend tests and compares "
      "with their\noutputs: DIR/model.onnx and DIR/test_data_set_0 with "
      "input_0.pb, output_0.pb, ...\nA DIR without model.onnx stands for the "
      "folders in it. Integers and NaN must be\nequal, floats within 1e-4 * "
      "|expected| + 1e-5 * (largest |expected| of the output);\nhalf "
      "precision has more and f64 less (docs/semantics.md). Each data set "
      "runs in a\nprocess of its own: PASS, FAIL (a wrong result), "
      "UNSUPPORTED, ERROR, CRASH or TIMEOUT.\n\nWith --all-ways: computes a "
      "graph "
      "file (.onnx, .mlir) on every target of this\nmachine (or --target), "
      "fused, "
      "unfused, exact and without each optional pass, and\njudges every way by "
      "bounds that follow from the graph and its "
      "inputs\n(docs/verification.md). "
      "--exact, --fuse and --disable-pass apply to\nall ways.",
      concat<OptionSpec>(
          {{{"all-ways", "",
             "compute one graph file in every way and compare"}},
           {targetOptionSpec()},
           toleranceOptionSpecs(),
           {{"timeout", "SECONDS",
             "limit for one data set; 0 for none (default: 300)"},
            {"out", "DIR",
             "write outputs to DIR/CASE/test_data_set_0/output_0.npy, ..."}},
           inputOptionSpecs(),
           bindingOptionSpecs(),
           compileOptionSpecs(),
           {{"json", "", "report as JSON"}},
           commonOptionSpecs()}),
      {{"fusec verify test/models/mnist_cnn --target=reference", "one network"},
       {"fusec verify onnx/backend/test/data/node --target=emulator",
        "all cases of a folder"},
       {"fusec verify --all-ways softmax.mlir", "every way, one table"}},
      1,
      size_t(1) << 20,
      {},
      runVerify,
      concat<Rule>(
          {{{{"rtol", "atol", "steps"},
             {absent("all-ways")},
             "each way is judged by bounds that follow from the graph",
             "leave it out; 'fusec run --against' compares two targets with "
             "tolerances"},
            {{"out"},
             {absent("all-ways")},
             "it writes no outputs",
             "'fusec run MODEL --target=TARGET --out DIR' writes those of one "
             "way"},
            {{"input", "inputs", "seed"},
             {given("all-ways")},
             "inputs come from the data sets of the folders",
             "'fusec run MODEL' and 'fusec verify --all-ways MODEL' take "
             "others"},
            {{"shape", "dim"},
             {given("all-ways")},
             "sizes come from the data sets of the folders",
             "'fusec run MODEL' and 'fusec verify --all-ways MODEL' take "
             "others"}},
           compileOptionRules()})};
}
