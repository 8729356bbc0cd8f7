//===- FuzzWork.cpp - what children of fusec fuzz do ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FuzzWork.h"
#include "ChildProcess.h"
#include "FuzzTally.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include <chrono>
#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using Clock = std::chrono::steady_clock;

/// One thread each: there is a child per core. Code that is compiled fast takes
/// a third of the time.
static llvm::Error openAll(const FuzzSettings &settings, bool fastCompile,
                           std::vector<Target> &targets) {
  session::OpenOptions options;
  options.fastCompile = fastCompile;
  options.threads = 1;
  for (TargetKind kind : settings.targets) {
    llvm::Expected<Target> target = session::openTarget(kind, options);
    if (!target)
      return withCode(ExitCode::NoDevice, target.takeError(),
                      "'fusec devices' shows what is there");
    targets.push_back(std::move(*target));
  }
  return llvm::Error::success();
}

/// What is allocated behind the limit ends the child, which says so first: it
/// is no crash of what is tested.
static void limitMemory(int64_t megabytes, llvm::raw_ostream &os) {
  if (megabytes <= 0)
    return;
  rlim_t bytes = rlim_t(megabytes) << 20;
  rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_DATA, &limit);
  // `os` has no buffer: writing allocates nothing.
  llvm::install_bad_alloc_error_handler(
      [](void *stream, const char *, bool) {
        *static_cast<llvm::raw_ostream *>(stream) << kStarvedLine << '\n';
        _exit(0);
      },
      &os);
}

/// Crashes are for the parent: a stack trace takes longer than a case.
static void dieQuietly() {
  rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
    std::signal(signal, SIG_DFL);
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

/// Whether the code of case `seed` is compiled for speed.
static bool isOptimized(uint64_t seed) { return seed % 8 == 0; }

/// Names the option where memory that was asked for was refused.
static void nameLimit(const FuzzSettings &settings, std::string &message) {
  if (settings.megabytes > 0 && StringRef(message).contains("no memory for "))
    message += " (--memory=" + std::to_string(settings.megabytes) + ")";
}

void fusec::tool::runSeeds(const FuzzSettings &settings, uint64_t first,
                           uint64_t end, llvm::raw_ostream &os) {
  limitMemory(settings.megabytes, os);
  // --count=1 shows the stack.
  if (settings.end - settings.seed > 1)
    dieQuietly();
  std::vector<Target> fast, optimized;
  if (llvm::Error error = llvm::joinErrors(
          openAll(settings, true, fast), openAll(settings, false, optimized))) {
    os << "way " << llvm::toString(std::move(error)) << '\n';
    return;
  }
  for (uint64_t seed = first; seed < end; ++seed) {
    fuzz::CaseReport report = fuzz::runCase(
        seed, isOptimized(seed) ? optimized : fast,
        [&](StringRef way) { os << ("way " + way + "\n").str(); });
    nameLimit(settings, report.failure);
    for (fuzz::WayReport &way : report.ways)
      nameLimit(settings, way.judgement.message);
    os << toLine(seed, report).append("\n");
    // After a kernel's fault CUDA refuses everything in this process.
    if (llvm::any_of(report.ways, [](const fuzz::WayReport &way) {
          return way.judgement.outcome == verify::Outcome::Failed;
        })) {
      os << kRestLine << '\n';
      return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Before there are seeds
//===----------------------------------------------------------------------===//

llvm::Expected<ExitCode>
fusec::tool::checkTargets(const FuzzSettings &settings) {
  auto child = ChildProcess::start([&](llvm::raw_ostream &os) {
    std::vector<Target> targets;
    ExitCode code = ExitCode::Ok;
    if (llvm::Error error = openAll(settings, true, targets))
      code = report(std::move(error));
    os << static_cast<int>(code) << '\n';
  });
  if (!child)
    return withCode(ExitCode::Failed, child.takeError());
  std::string line;
  int code = static_cast<int>(ExitCode::Failed);
  if (child->next(line, 0) == ChildProcess::Event::Line)
    StringRef(line).getAsInteger(10, code);
  return static_cast<ExitCode>(code);
}

/// A graph that is less than every case.
static constexpr char kSmallest[] =
    "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %y = graph.add %x, %x : tensor<2xf32>\n"
    "  return %y : tensor<2xf32>\n"
    "}\n";

/// Runs that graph on every target.
static llvm::Error runSmallest(const FuzzSettings &settings) {
  llvm::Expected<session::Model> model =
      session::parseModel(kSmallest, "smallest graph");
  if (!model)
    return model.takeError();
  llvm::Expected<HostTensor> input = HostTensor::create(DType::F32, {2});
  if (!input)
    return input.takeError();
  for (bool fastCompile : {true, false}) {
    std::vector<Target> targets;
    if (llvm::Error error = openAll(settings, fastCompile, targets))
      return error;
    for (const Target &target : targets) {
      driver::CompileOptions options;
      options.target = target.info;
      auto outputs = runWay(*model, verify::Way{target, options}, {*input});
      if (!outputs)
        return outputs.takeError();
    }
  }
  return llvm::Error::success();
}

namespace {
struct Attempt {
  bool works = false;
  double seconds = 0;
};
} // namespace

/// Runs the smallest graph as a child runs a seed.
static llvm::Expected<Attempt> trySmallest(const FuzzSettings &settings,
                                           int64_t megabytes) {
  // Nothing is known of a process without memory but that it may wait for ever.
  constexpr double kMostSeconds = 300;
  auto begin = Clock::now();
  auto child = ChildProcess::start([&](llvm::raw_ostream &os) {
    limitMemory(megabytes, os);
    dieQuietly();
    if (llvm::Error error = runSmallest(settings))
      llvm::consumeError(std::move(error));
    else
      os << "works\n";
  });
  if (!child)
    return withCode(ExitCode::Failed, child.takeError());
  std::string line;
  bool answers = child->next(line, kMostSeconds) == ChildProcess::Event::Line;
  std::chrono::duration<double> used = Clock::now() - begin;
  return Attempt{answers && line == "works", used.count()};
}

llvm::Error fusec::tool::checkLimits(const FuzzSettings &settings,
                                     const Arguments &arguments) {
  bool hasMemory = arguments.has("memory") && settings.megabytes > 0;
  bool hasLimit = arguments.has("timeout") && settings.limit > 0;
  if (!hasMemory && !hasLimit)
    return llvm::Error::success();
  llvm::Expected<Attempt> free = trySmallest(settings, 0);
  if (!free)
    return free.takeError();
  // A graph of one op that fails by itself is for the report.
  if (!free->works)
    return llvm::Error::success();
  // The second time shows what of the first was other work of the machine.
  if (hasLimit && free->seconds > settings.limit) {
    free = trySmallest(settings, 0);
    if (!free)
      return free.takeError();
    if (free->seconds > settings.limit) {
      std::string needed;
      llvm::raw_string_ostream(needed) << llvm::format("%.2g", free->seconds);
      return toolError(ExitCode::Usage,
                       "--timeout=" + arguments.value("timeout") +
                           " is too small: an addition of two numbers takes " +
                           needed + " s here, compiling included",
                       "give each way several times that; the default is 60");
    }
  }
  if (!hasMemory)
    return llvm::Error::success();
  llvm::Expected<Attempt> limited = trySmallest(settings, settings.megabytes);
  if (!limited)
    return limited.takeError();
  if (!limited->works)
    return toolError(ExitCode::Usage,
                     "--memory=" + arguments.value("memory") +
                         " is too small: an addition of two numbers does not "
                         "run in so many MiB",
                     "the default is 4096");
  return llvm::Error::success();
}
