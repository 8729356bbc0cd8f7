//===- FuzzCommand.cpp - fusec fuzz ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Children run seeds (FuzzWork.h) and write what they found as lines; one that
// crashes or hangs is itself a finding, of the seed it was at. This process
// opens no device: threads and CUDA contexts do not survive a fork.
//===----------------------------------------------------------------------===//
#include "ChildProcess.h"
#include "Commands.h"
#include "FuzzTally.h"
#include "FuzzWork.h"
#include "Options.h"
#include "Progress.h"
#include "SaveCase.h"
#include "llvm/Support/Format.h"
#include <list>

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using Clock = std::chrono::steady_clock;
using Settings = FuzzSettings;

/// Seeds of one child: memory of contexts adds up, and a GPU's context takes
/// longer to make than a case to run.
static constexpr int64_t kSeedsPerChild = 50, kSeedsPerCudaChild = 500;

static double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

//===----------------------------------------------------------------------===//
// In the parent
//===----------------------------------------------------------------------===//

namespace {
/// A child at work on [next, end).
struct Worker {
  ChildProcess child;
  uint64_t next, end;
  std::string way = "";
  /// It left [next, end) to another child; it wanted more memory than it may.
  bool leaves = false, isStarved = false;
  Clock::time_point heard = Clock::now();
};

/// Hands seeds to children and gathers what they say.
class Fuzzer {
public:
  Fuzzer(const Settings &settings, const Arguments &arguments, FuzzTally &tally)
      : settings(settings), json(arguments.has("json")), tally(tally),
        progress(arguments), next(settings.seed) {}
  llvm::Error run();

private:
  llvm::Error start(uint64_t first, uint64_t end);
  bool listen(Worker &worker, double seconds);
  bool hear(Worker &worker, StringRef line);
  void report(const Finding &finding);

  const Settings &settings;
  bool json;
  FuzzTally &tally;
  Progress progress;
  Clock::time_point begin = Clock::now();
  /// The first seed that no child has.
  uint64_t next;
  std::list<Worker> workers;
};
} // namespace

llvm::Error Fuzzer::start(uint64_t first, uint64_t end) {
  auto child = ChildProcess::start(
      [&](llvm::raw_ostream &os) { runSeeds(settings, first, end, os); });
  if (!child)
    return withCode(ExitCode::Failed, child.takeError());
  workers.push_back({std::move(*child), first, end});
  return llvm::Error::success();
}

void Fuzzer::report(const Finding &finding) {
  progress.clear();
  if (!json) {
    llvm::outs() << toText(finding) << '\n';
    llvm::outs().flush();
  }
  if (settings.out.empty() || finding.kind == "generator")
    return;
  // In a child: nothing is sure of a case that is a finding.
  auto child = ChildProcess::start([&](llvm::raw_ostream &os) {
    if (llvm::Error error =
            saveSeed(finding.seed,
                     settings.out + "/seed-" + std::to_string(finding.seed),
                     toText(finding)))
      fusec::tool::report(std::move(error));
  });
  if (!child)
    return llvm::consumeError(child.takeError());
  std::string line;
  while (child->next(line, 60) == ChildProcess::Event::Line) {
  }
}

/// Takes a line of `worker`; false if it is none that children write.
bool Fuzzer::hear(Worker &worker, StringRef line) {
  worker.heard = Clock::now();
  if (line.consume_front("way ")) {
    worker.way = line.str();
    return true;
  }
  if (line == kRestLine)
    return worker.leaves = true;
  if (line == kStarvedLine)
    return worker.isStarved = true;
  auto news = tally.add(line);
  if (!news)
    return false;
  ++worker.next;
  for (const Finding &finding : *news)
    report(finding);
  progress.show("graphs: " + llvm::Twine(tally.cases) +
                ", findings: " + llvm::Twine(tally.findings.size()) +
                ", seed " + llvm::Twine(worker.next));
  return true;
}

/// Waits for a line of `worker`; false if the child is done. One that died
/// gives its other seeds to a new child.
bool Fuzzer::listen(Worker &worker, double seconds) {
  std::string line;
  ChildProcess::Event event = worker.child.next(line, seconds);
  if (event == ChildProcess::Event::Line && hear(worker, line))
    return true;
  bool hangs = settings.limit > 0 && since(worker.heard) > settings.limit;
  if (event == ChildProcess::Event::Timeout && !hangs)
    return true;
  if (event == ChildProcess::Event::End &&
      (worker.leaves || worker.next == worker.end))
    return false;
  Finding finding{worker.next, "hang", worker.way, ""};
  if (event == ChildProcess::Event::Timeout) {
    llvm::raw_string_ostream(finding.message)
        << llvm::format("not done after %g s (--timeout)", settings.limit);
  } else if (worker.isStarved) {
    finding.kind = "memory";
    finding.message = "wants more than " + std::to_string(settings.megabytes) +
                      " MiB (--memory)";
  } else {
    std::string how = worker.child.wait();
    finding.kind = "crash";
    finding.message =
        "the process ended" + (how.empty() ? " early" : " by " + how);
  }
  ++tally.cases;
  tally.add(finding);
  report(finding);
  return false;
}

llvm::Error Fuzzer::run() {
  auto isOver = [&] {
    return settings.seconds > 0 && since(begin) >= settings.seconds;
  };
  while (true) {
    while (int64_t(workers.size()) < settings.jobs && next < settings.end &&
           !isOver()) {
      uint64_t end = std::min<uint64_t>(settings.end, next + settings.perChild);
      if (llvm::Error error = start(next, end))
        return error;
      next = end;
    }
    if (workers.empty() || isOver())
      return llvm::Error::success();
    double wait = workers.size() > 1 ? 0.02 : 0.5;
    if (settings.limit > 0)
      wait = std::min(wait, settings.limit);
    for (auto it = workers.begin(); it != workers.end();) {
      if (listen(*it, wait)) {
        ++it;
        continue;
      }
      // A seed at which a child died is done.
      uint64_t first = it->next + (it->leaves ? 0 : 1), end = it->end;
      it = workers.erase(it);
      if (first < end)
        if (llvm::Error error = start(first, end))
          return error;
    }
  }
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static llvm::Expected<Settings> parseSettings(const Arguments &arguments) {
  Settings settings;
  auto seed = arguments.integer("seed", 0, 0, int64_t(1) << 62);
  if (!seed)
    return seed.takeError();
  auto count = arguments.integer(
      "count", arguments.has("time") ? 1 << 30 : 1000, 1, int64_t(1) << 40);
  if (!count)
    return count.takeError();
  settings.seed = *seed;
  settings.end = *seed + *count;
  settings.perChild = kSeedsPerChild;
  for (auto [name, field, otherwise] :
       {std::tuple("time", &settings.seconds, 0.0),
        std::tuple("timeout", &settings.limit, 60.0)}) {
    llvm::Expected<double> value = arguments.number(name, otherwise);
    if (!value)
      return value.takeError();
    *field = *value;
  }
  auto jobs = arguments.integer("jobs", 1, 1, 256);
  if (!jobs)
    return jobs.takeError();
  settings.jobs = *jobs;
  auto megabytes = arguments.integer("memory", 4096, 0, 1 << 20);
  if (!megabytes)
    return megabytes.takeError();
  settings.megabytes = *megabytes;
  settings.out = arguments.value("out").str();
  for (StringRef name : arguments.values("target"))
    settings.targets.push_back(*session::parseTargetKind(name));
  if (settings.targets.empty())
    settings.targets.push_back(TargetKind::Host);
  if (llvm::is_contained(settings.targets, TargetKind::Cuda)) {
    settings.perChild = kSeedsPerCudaChild;
    settings.megabytes = 0;
  }
  return settings;
}

static llvm::Expected<ExitCode> fuzzRun(const Arguments &arguments) {
  llvm::Expected<Settings> settings = parseSettings(arguments);
  if (!settings)
    return settings.takeError();
  if (!settings->out.empty())
    if (llvm::Error error = makeFolder(settings->out))
      return error;
  llvm::Expected<ExitCode> code = checkTargets(*settings);
  if (!code || *code != ExitCode::Ok)
    return code;
  if (llvm::Error error = checkLimits(*settings, arguments))
    return error;
  auto begin = Clock::now();
  FuzzTally tally;
  if (llvm::Error error = Fuzzer(*settings, arguments, tally).run())
    return error;
  if (arguments.has("json"))
    printJson(tally.toJson(since(begin)));
  else
    tally.print(llvm::outs(), since(begin));
  if (arguments.has("coverage") && !arguments.has("json"))
    tally.printCoverage(llvm::outs());
  return tally.findings.empty() ? ExitCode::Ok : ExitCode::WrongResult;
}

static constexpr StringRef kTargets[] = {"cuda", "host", "emulator"};

CommandSpec fusec::tool::fuzzCommand() {
  return {
      "fuzz",
      "run random graphs every way and judge the results",
      "[options]",
      "Makes random graphs of all operators and element types with awkward "
      "shapes and\nvalues, runs them on the reference evaluator and on targets "
      "(fused; at times\nunfused, exact, without an optional pass, changed in "
      "ways that keep the result, or\nwith tensors in awkward places) and "
      "judges every element by bounds derived from\nthe graph "
      "(docs/verification.md). Seven of eight graphs are compiled without\n"
      "optimising. The same seed is the same graph on every machine. Graphs "
      "run in child\nprocesses: crashes and hangs are findings, as are results "
      "out of bounds and kernels\nthat fail. Exit code 1 if there is a "
      "finding.",
      concat<OptionSpec>(
          {{{"seed", "N", "the first seed (default: 0)"},
            {"count", "N",
             "number of seeds (default: 1000, or as many as --time allows)"},
            {"time", "SECONDS", "stop after that long"},
            {"target", "TARGET",
             "cuda, host or emulator; may be given several times "
             "(default: host)",
             true, kTargets},
            {"jobs", "N", "child processes at a time (default: 1)"},
            {"timeout", "SECONDS",
             "a way that takes longer hangs; 0 for no limit (default: 60)"},
            {"memory", "MIB",
             "the most data of a child; 0 for no limit; not for cuda "
             "(default: 4096)"},
            {"out", "DIR",
             "write the graph, inputs and run line of each finding to "
             "DIR/seed-N"},
            {"coverage", "",
             "list how many graphs reached each kind of kernel, each reason "
             "of the\nplanner and each path of lowering, those that none "
             "reached too"},
            {"json", "", "report as JSON"}},
           commonOptionSpecs()}),
      {{"fusec fuzz --count=20", "the first graphs, on the host"},
       {"fusec fuzz --target=host --target=emulator --time=5 --out=findings",
        "as many as fit, findings as files"},
       {"fusec fuzz --seed=1234 --count=1", "one graph again"},
       {"fusec fuzz --target=cuda --count=20000 --jobs=12",
        "on a GPU, which processes share"}},
      0,
      0,
      {},
      fuzzRun,
      {{{"memory"},
        {absent("target", {"cuda"})},
        "the driver maps more than there is",
        "leave it out, or fuzz the other targets by themselves"},
       {{"coverage"},
        {absent("json")},
        "it is a list for people",
        "leave one of them; \"features\" of the JSON has what was reached"}}};
}
