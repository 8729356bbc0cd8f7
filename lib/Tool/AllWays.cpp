//===- AllWays.cpp - fusec verify --all-ways ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bounds are computed here, once; each way runs in a child, which inherits
// model, inputs and bounds and writes its judgement as one line. This process
// opens no device: threads and CUDA contexts do not survive a fork.
//===----------------------------------------------------------------------===//
#include "AllWays.h"
#include "ChildProcess.h"
#include "Prepare.h"
#include "Progress.h"
#include "Report.h"
#include "fusec/Verify/NetBounds.h"
#include "fusec/Verify/Ways.h"
#include "llvm/Support/Format.h"
#include <chrono>

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using verify::Outcome;
using verify::Way;

namespace {
/// A graph, its inputs and what its outputs may be.
struct Judged {
  Model model;
  std::vector<HostTensor> inputs;
  std::vector<reference::Bounds> bounds;
  /// The widest bound over the largest element of its output; the share of
  /// elements that may be anything.
  double looseness = 0, unknown = 0;
};

/// What became of a way.
struct Row {
  std::string way;
  /// "right", "wrong", "unsupported", "failed", "crash" or "timeout".
  std::string outcome;
  std::string message;
  double worst = 0, seconds = 0;
  int64_t exact = 0, wrong = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

static void measureBounds(Judged &subject) {
  int64_t elements = 0, unknown = 0;
  for (const reference::Bounds &bounds : subject.bounds) {
    double widest = 0, largest = 0;
    elements += bounds.low.size();
    for (int64_t i = 0, e = bounds.low.size(); i < e; ++i) {
      double middle = bounds.middle.getF64(i);
      unknown += bounds.isUnknown(i);
      if (!isFloat(bounds.middle.dtype) || !std::isfinite(middle) ||
          !std::isfinite(bounds.high[i] - bounds.low[i]))
        continue;
      largest = std::max(largest, std::fabs(middle));
      widest =
          std::max({widest, bounds.high[i] - middle, middle - bounds.low[i]});
    }
    if (largest > 0)
      subject.looseness = std::max(
          subject.looseness,
          std::min(widest / largest, std::numeric_limits<double>::max()));
  }
  if (elements)
    subject.unknown = double(unknown) / double(elements);
}

static llvm::Expected<Judged> prepareJudged(const Arguments &arguments) {
  llvm::Expected<Subject> read = readSubject(arguments);
  if (!read)
    return read.takeError();
  // Of the targets that may be named only GPUs have sums of their own.
  bool hasGpu = !arguments.has("target") || arguments.value("target") == "cuda";
  auto bounds = verify::boundsOfNet(read->model, read->inputs, hasGpu);
  if (!bounds)
    return withCode(ExitCode::Unsupported, bounds.takeError());
  Judged subject{std::move(read->model), std::move(read->inputs),
                 std::move(*bounds)};
  measureBounds(subject);
  return subject;
}

/// The targets that a child can open, or those of --target.
static llvm::Expected<std::vector<std::string>>
findTargets(const Arguments &arguments) {
  if (arguments.has("target"))
    return std::vector<std::string>{arguments.value("target").str()};
  auto child = ChildProcess::start([&](llvm::raw_ostream &os) {
    for (StringRef name : session::targetNames()) {
      auto target = openTarget(name, arguments.value("arch"), nullptr, true);
      if (target)
        os << name << '\n';
      else
        llvm::consumeError(target.takeError());
    }
  });
  if (!child)
    return withCode(ExitCode::Failed, child.takeError());
  std::vector<std::string> names;
  std::string line;
  while (child->next(line, 0) == ChildProcess::Event::Line)
    names.push_back(line);
  // The fast and independent ones first.
  std::reverse(names.begin(), names.end());
  return names;
}

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

static std::string toLine(const verify::Judgement &judgement) {
  std::string line;
  llvm::raw_string_ostream(line)
      << llvm::json::Value(Object{{"outcome", verify::name(judgement.outcome)},
                                  {"message", jsonText(judgement.message)},
                                  {"worst", judgement.worst},
                                  {"exact", judgement.exact},
                                  {"wrong", judgement.wrong}});
  return line;
}

/// In a child: way number `index` of `target`.
static verify::Judgement runWayNumber(const Arguments &arguments,
                                      const Judged &subject, StringRef target,
                                      size_t index) {
  auto opened =
      openTarget(target, arguments.value("arch"), kernelCache(arguments), true);
  if (!opened)
    return verify::judge(opened.takeError());
  auto options = parseCompileOptions(arguments, opened->info);
  if (!options)
    return verify::judge(options.takeError());
  Way way = verify::waysOf(*opened, *options)[index];
  auto outputs = runWay(subject.model, way, subject.inputs);
  return outputs
             ? verify::judge(subject.model.outputs, subject.bounds, *outputs)
             : verify::judge(outputs.takeError());
}

static void readLine(StringRef line, Row &row) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  const Object *object = value ? value->getAsObject() : nullptr;
  if (object) {
    row.outcome = object->getString("outcome").value_or("").str();
    row.message = object->getString("message").value_or("").str();
    row.worst = object->getNumber("worst").value_or(0);
    row.exact = object->getInteger("exact").value_or(0);
    row.wrong = object->getInteger("wrong").value_or(0);
  }
  if (!value)
    llvm::consumeError(value.takeError());
}

static llvm::Expected<Row> runRow(const Arguments &arguments,
                                  const Judged &subject, StringRef target,
                                  size_t index, const Way &way, double limit) {
  Row row;
  row.way = way.name();
  auto begin = std::chrono::steady_clock::now();
  auto child = ChildProcess::start([&](llvm::raw_ostream &os) {
    os << toLine(runWayNumber(arguments, subject, target, index)) << '\n';
  });
  if (!child)
    return withCode(ExitCode::Failed, child.takeError());
  std::string line;
  ChildProcess::Event event = child->next(line, limit);
  if (event == ChildProcess::Event::Line)
    readLine(line, row);
  if (event == ChildProcess::Event::Timeout) {
    row.outcome = "timeout";
    llvm::raw_string_ostream(row.message)
        << llvm::format("not done after %g s", limit);
  } else if (row.outcome.empty()) {
    std::string how = child->wait();
    row.outcome = "crash";
    row.message = "the process ended" + (how.empty() ? " early" : " by " + how);
  }
  std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  row.seconds = used.count();
  return row;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

static void print(const Row &row) {
  llvm::outs() << llvm::left_justify(row.way, 47) << ' '
               << llvm::left_justify(row.outcome, 13);
  if (row.outcome == name(Outcome::Right) || row.wrong)
    llvm::outs() << llvm::format("%8.3g %8.2f s", row.worst, row.seconds);
  if (!row.message.empty())
    llvm::outs() << "  " << row.message;
  llvm::outs() << '\n';
  llvm::outs().flush();
}

static Object rowJson(const Row &row) {
  return Object{{"way", row.way},
                {"outcome", row.outcome},
                {"worst", row.worst},
                {"exact", row.exact},
                {"wrong", row.wrong},
                {"seconds", row.seconds},
                {"message", jsonText(row.message)}};
}

/// As the exit code of `verify` on folders: the first of 1, 5, 3.
static ExitCode codeOf(llvm::ArrayRef<Row> rows) {
  auto any = [&](auto... outcomes) {
    return llvm::any_of(rows, [&](const Row &row) {
      return ((row.outcome == outcomes) || ...);
    });
  };
  if (any(name(Outcome::Wrong)))
    return ExitCode::WrongResult;
  if (any(name(Outcome::Failed), StringRef("crash"), StringRef("timeout")))
    return ExitCode::Failed;
  return any(name(Outcome::Unsupported)) ? ExitCode::Unsupported : ExitCode::Ok;
}

llvm::Expected<ExitCode>
fusec::tool::verifyAllWays(const Arguments &arguments) {
  if (arguments.positionals.size() != 1)
    return toolError(ExitCode::Usage, "--all-ways takes one graph file");
  llvm::Expected<double> limit = arguments.number("timeout", 300);
  if (!limit)
    return limit.takeError();
  auto targets = findTargets(arguments);
  if (!targets)
    return targets.takeError();
  Progress progress(arguments);
  progress.show("bounds");
  llvm::Expected<Judged> subject = prepareJudged(arguments);
  progress.clear();
  if (!subject)
    return subject.takeError();
  bool json = arguments.has("json");
  if (!arguments.has("target") && !llvm::is_contained(*targets, "cuda") &&
      !arguments.has("quiet"))
    llvm::errs() << "note: no GPU was found; ways on cuda are left out\n";
  if (!json && subject->unknown == 1)
    llvm::outs() << "bounds: every element may be anything; no result is "
                    "judged\n";
  else if (!json)
    llvm::outs() << llvm::format("bounds: at most %.2g of the largest element "
                                 "of an output; %.3g%% of the elements may be "
                                 "anything\n",
                                 subject->looseness, 100 * subject->unknown);
  if (!json)
    llvm::outs() << llvm::left_justify("way", 48)
                 << llvm::left_justify("outcome", 13) << "error over bound\n";
  std::vector<Row> rows;
  for (const std::string &name : *targets) {
    Way start;
    start.target.kind = *session::parseTargetKind(name);
    auto options = parseCompileOptions(arguments, start.target.info);
    if (!options)
      return options.takeError();
    auto ways = verify::waysOf(start.target, *options);
    for (auto [i, way] : llvm::enumerate(ways)) {
      progress.show(way.name());
      auto row = runRow(arguments, *subject, name, i, way, *limit);
      progress.clear();
      if (!row)
        return row.takeError();
      if (!json)
        print(*row);
      rows.push_back(std::move(*row));
    }
  }
  if (json) {
    Array list;
    for (const Row &row : rows)
      list.push_back(rowJson(row));
    printJson(Object{{"model", jsonText(arguments.positionals[0])},
                     {"looseness", subject->looseness},
                     {"unknown", subject->unknown},
                     {"ways", std::move(list)}});
  }
  return codeOf(rows);
}
