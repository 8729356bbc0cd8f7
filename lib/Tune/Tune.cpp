//===- Tune.cpp - a search for each kernel of a graph ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. For each way to cut the graph into regions, compile it as often as the
//     kernel with the most candidates has them: in the i-th compilation each
//     kernel is its i-th candidate.
//  2. Search each kernel's fastest, the longest kernels first, each in its
//     share of the time that is left. Tell the chooser and the record.
//  3. Where there are several ways, search the fastest, as a whole and with the
//     kernels that were found.
//===----------------------------------------------------------------------===//
#include "fusec/Tune/Tune.h"
#include "Isolate.h"
#include "llvm/ADT/STLExtras.h"

#include <ctime>

using namespace fusec;
using namespace fusec::tune;
using llvm::Expected;

/// Of the time, for compiling the graph with all candidates.
static constexpr double kCompileShare = 0.4;

namespace {
/// Answers questions about the plan by `plan`, and all others by `position` or
/// the model's choice, or as `kernels` does.
struct FixedChooser final : ScheduleChooser {
  explicit FixedChooser(size_t plan, size_t position = 0,
                        const ScheduleChooser *kernels = nullptr)
      : plan(plan), position(position), kernels(kernels) {}
  ScheduleAnswer choose(const ScheduleQuestion &question) const override {
    if (question.isPlan) {
      asked = question;
      return {plan, ""};
    }
    if (kernels)
      return kernels->choose(question);
    return {position < question.candidates.size() ? position : 0, ""};
  }
  size_t plan, position;
  const ScheduleChooser *kernels;
  /// About the plan, by the one thread that compiles.
  mutable std::optional<ScheduleQuestion> asked;
};

/// Has products looked for where a vendor could compute them.
struct NoVendor final : driver::VendorChooser {
  std::optional<runtime::VendorAlgorithm>
  algorithmFor(const std::string &) const override {
    return std::nullopt;
  }
};

/// A kernel and what the planner thinks it takes in all.
struct Task {
  Candidates candidates;
  double microseconds = 0;
  /// What the vendor's library may compute instead.
  std::optional<runtime::MatrixProduct> product = std::nullopt;
  std::string noVendor = "";
  /// Of the way in which the model cuts the graph.
  bool isOfModel = true;
};
} // namespace

static Expected<driver::Compilation>
compileWith(std::shared_ptr<const FixedChooser> chooser, mlir::ModuleOp module,
            driver::CompileOptions options) {
  options.chooser = std::move(chooser);
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  return driver::compile(*copy, options);
}

/// The kernels of `model` that have several candidates, or a product that the
/// vendor may have more for, without any yet.
static std::vector<Task> tasksOf(const driver::Compilation &model) {
  std::vector<Task> tasks;
  for (const driver::KernelSummary &kernel : model.kernels) {
    if (!kernel.decision || (kernel.decision->question.candidates.size() < 2 &&
                             !kernel.decision->product))
      continue;
    const ScheduleQuestion &question = kernel.decision->question;
    auto same = llvm::find_if(tasks, [&](const Task &task) {
      return task.candidates.problem == question.problem;
    });
    if (same != tasks.end()) {
      ++same->candidates.launches;
      same->microseconds += kernel.cost.total();
      continue;
    }
    tasks.push_back({{question.problem,
                      question.title,
                      {},
                      question.isExactOnSimpleData,
                      1},
                     kernel.cost.total(),
                     kernel.decision->product});
  }
  return tasks;
}

/// Adds to each task the candidate that `compilation` was made with.
static void addCandidates(std::vector<Task> &tasks,
                          const driver::Compilation &compilation,
                          size_t position) {
  for (Task &task : tasks) {
    auto kernel =
        llvm::find_if(compilation.kernels, [&](const driver::KernelSummary &k) {
          return k.decision &&
                 k.decision->question.problem == task.candidates.problem &&
                 k.decision->answer.candidate == position;
        });
    if (kernel == compilation.kernels.end())
      continue;
    Expected<runtime::Program> program = isolate(compilation.program, *kernel);
    if (!program) {
      llvm::consumeError(program.takeError());
      continue;
    }
    const ScheduleCandidate &candidate =
        kernel->decision->question.candidates[position];
    task.candidates.candidates.push_back({candidate.name, candidate.order,
                                          candidate.microseconds,
                                          std::move(*program)});
  }
}

/// What the library's heuristics name for a product, best first.
static constexpr size_t kVendorCandidates = 8;

/// Adds what the vendor's library offers: the launch of the model's choice with
/// a call in its place.
static void addVendorCandidates(Task &task, Bench &bench) {
  if (!task.product)
    return;
  auto offered = bench.vendorAlgorithms(*task.product, kVendorCandidates);
  if (!offered) {
    task.noVendor = llvm::toString(offered.takeError());
    return;
  }
  double predicted = task.candidates.candidates.front().predicted;
  for (const runtime::VendorAlgorithm &algorithm : *offered) {
    runtime::Program program = task.candidates.candidates.front().program;
    addVendorCall(program, std::get<runtime::Launch>(program.steps.front()),
                  *task.product, algorithm);
    if (llvm::Error error = planWorkspace(program)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    // It adds in an order that nobody states.
    task.candidates.candidates.push_back({algorithm.name, algorithm.name,
                                          predicted, std::move(program),
                                          /*isVendor=*/true});
  }
}

/// The kernels with candidates of `module`, cut in one way, with as many as
/// there is time for. `asked` gets what was asked about the ways.
static Expected<std::vector<Task>>
findTasks(mlir::ModuleOp module, const driver::CompileOptions &options,
          Bench &bench, double deadline, size_t plan,
          std::optional<ScheduleQuestion> &asked) {
  auto first = std::make_shared<FixedChooser>(plan);
  Expected<driver::Compilation> model = compileWith(first, module, options);
  if (!model)
    return model.takeError();
  asked = first->asked;
  std::vector<Task> tasks = tasksOf(*model);
  addCandidates(tasks, *model, 0);
  // What others are compared with is the model's choice.
  llvm::erase_if(tasks, [](const Task &task) {
    return task.candidates.candidates.empty();
  });
  size_t most = 0;
  for (const driver::KernelSummary &kernel : model->kernels)
    if (kernel.decision)
      most = std::max(most, kernel.decision->question.candidates.size());
  for (size_t i = 1; i < most && bench.now() < deadline; ++i) {
    Expected<driver::Compilation> other =
        compileWith(std::make_shared<FixedChooser>(plan, i), module, options);
    // Another candidate of one kernel may not be legal: none of this turn.
    if (other)
      addCandidates(tasks, *other, i);
    else
      llvm::consumeError(other.takeError());
  }
  for (Task &task : tasks)
    addVendorCandidates(task, bench);
  llvm::erase_if(tasks, [](const Task &task) {
    return task.candidates.candidates.size() < 2;
  });
  return tasks;
}

/// Adds those of other ways to cut the graph, which stay out where one of them
/// is not legal.
static void findTasksOfOthers(std::vector<Task> &tasks, mlir::ModuleOp module,
                              const driver::CompileOptions &options,
                              Bench &bench, double deadline, size_t numPlans) {
  for (size_t plan = 1; plan < numPlans && bench.now() < deadline; ++plan) {
    std::optional<ScheduleQuestion> asked;
    Expected<std::vector<Task>> others =
        findTasks(module, options, bench, deadline, plan, asked);
    if (!others) {
      llvm::consumeError(others.takeError());
      continue;
    }
    for (Task &other : *others)
      if (llvm::none_of(tasks, [&](const Task &task) {
            return task.candidates.problem == other.candidates.problem;
          })) {
        other.isOfModel = false;
        tasks.push_back(std::move(other));
      }
  }
}

/// Longest first, of equal ones the first in the program.
static std::vector<Task> sortTasks(std::vector<Task> tasks) {
  std::vector<Task> sorted;
  for (Task &task : tasks)
    sorted.insert(llvm::upper_bound(sorted, task,
                                    [](const Task &a, const Task &b) {
                                      return a.microseconds > b.microseconds;
                                    }),
                  std::move(task));
  return sorted;
}

/// The whole program in each way to cut the graph, with the kernels that
/// `chooser` takes; ways that come to the same program but once.
static Candidates planCandidates(const ScheduleQuestion &question,
                                 mlir::ModuleOp module,
                                 driver::CompileOptions options,
                                 const RecordChooser &chooser) {
  Candidates result{question.problem, question.title, {}, false, 1};
  auto textsOf = [](const runtime::Program &program) {
    std::vector<llvm::StringRef> texts;
    for (const runtime::Kernel &kernel : program.kernels)
      texts.push_back(kernel.source);
    return texts;
  };
  for (auto [plan, way] : llvm::enumerate(question.candidates)) {
    Expected<driver::Compilation> compiled = compileWith(
        std::make_shared<FixedChooser>(plan, 0, &chooser), module, options);
    if (!compiled) {
      llvm::consumeError(compiled.takeError());
      // What others are compared with is the model's choice.
      if (plan == 0)
        break;
      continue;
    }
    if (llvm::none_of(result.candidates, [&](const Candidate &other) {
          return textsOf(other.program) == textsOf(compiled->program);
        }))
      result.candidates.push_back({way.name, way.order, way.microseconds,
                                   std::move(compiled->program)});
  }
  return result;
}

/// What a record keeps of a search among `candidates`.
static runtime::TuningEntry entryOf(const TunedKernel &kernel,
                                    const Candidates &candidates,
                                    const Machine &machine) {
  const SearchResult &result = kernel.result;
  runtime::TuningEntry entry;
  entry.key = keyOf(kernel.problem, machine);
  entry.title = kernel.title;
  entry.choice = result.candidates[result.winner].name;
  entry.model = result.candidates[0].name;
  entry.microseconds = *result.candidates[result.winner].microseconds;
  entry.modelMicroseconds = *result.candidates[0].microseconds;
  if (const Candidate &winner = candidates.candidates[result.winner];
      winner.isVendor)
    entry.vendor = {std::get<runtime::Launch>(winner.program.steps.front())
                        .vendor->algorithm,
                    result.candidates[result.own].name,
                    *result.candidates[result.own].microseconds};
  entry.timed = result.timed();
  entry.date = std::time(nullptr);
  return entry;
}

namespace {
/// The searches of one graph.
class Tuner {
public:
  Tuner(Bench &bench, RecordChooser &chooser, const Machine &machine,
        const runtime::TuningRecord *record, const TuneOptions &options,
        size_t count)
      : bench(bench), chooser(chooser), machine(machine), record(record),
        options(options), end(bench.now() + options.seconds), count(count) {}

  /// Searches the next of `count`, in its share of the time, and keeps what
  /// won; null if nothing did.
  const runtime::TuningEntry *run(const Candidates &candidates,
                                  const std::string &noVendor = "");

  TuneReport report;

private:
  SearchOptions optionsOf(const Candidates &candidates, double now);

  Bench &bench;
  RecordChooser &chooser;
  const Machine &machine;
  const runtime::TuningRecord *record;
  const TuneOptions &options;
  double end;
  size_t count;
  runtime::TuningEntry entry;
};
} // namespace

SearchOptions Tuner::optionsOf(const Candidates &candidates, double now) {
  size_t i = report.kernels.size() - 1;
  SearchOptions search;
  search.deadline = now + (end - now) / double(count - i);
  search.progress = [this, &candidates, i](size_t settled, unsigned,
                                           auto best) {
    if (!options.progress)
      return;
    TuneProgress progress{i, count, candidates.title,
                          candidates.candidates.size(), settled};
    if (best) {
      progress.best = candidates.candidates[best->first].name;
      progress.bestMicroseconds = best->second;
    }
    options.progress(progress);
  };
  return search;
}

const runtime::TuningEntry *Tuner::run(const Candidates &candidates,
                                       const std::string &noVendor) {
  TunedKernel &kernel = report.kernels.emplace_back();
  kernel.problem = candidates.problem;
  kernel.title = candidates.title;
  kernel.launches = candidates.launches;
  kernel.noVendor = noVendor;
  double now = bench.now();
  if (now >= end) {
    kernel.failure = "the time was over";
    return nullptr;
  }
  Expected<SearchResult> result =
      fusec::tune::search(candidates, bench, optionsOf(candidates, now));
  if (!result) {
    kernel.failure = llvm::toString(result.takeError());
    return nullptr;
  }
  kernel.result = std::move(*result);
  if (!kernel.result.isMeasured)
    return nullptr;
  entry = entryOf(kernel, candidates, machine);
  if (record)
    if (llvm::Error error = record->insert(entry))
      report.notKept = llvm::toString(std::move(error));
  chooser.add(entry);
  return &entry;
}

Expected<TuneReport> fusec::tune::tune(mlir::ModuleOp module,
                                       const driver::CompileOptions &options,
                                       Bench &bench, RecordChooser &chooser,
                                       const Machine &machine,
                                       const runtime::TuningRecord *record,
                                       const TuneOptions &tuneOptions) {
  double begin = bench.now(),
         deadline = begin + kCompileShare * tuneOptions.seconds;
  driver::CompileOptions asking = options;
  asking.vendor = tuneOptions.vendor ? std::make_shared<NoVendor>() : nullptr;
  std::optional<ScheduleQuestion> ways;
  Expected<std::vector<Task>> found =
      findTasks(module, asking, bench, deadline, 0, ways);
  if (!found)
    return found.takeError();
  if (ways)
    findTasksOfOthers(*found, module, asking, bench, deadline,
                      ways->candidates.size());
  std::vector<Task> tasks = sortTasks(std::move(*found));
  TuneOptions left = tuneOptions;
  left.seconds -= bench.now() - begin;
  Tuner tuner(bench, chooser, machine, record, left,
              tasks.size() + ways.has_value());
  TuneReport &report = tuner.report;
  for (const Task &task : tasks)
    if (const auto *entry = tuner.run(task.candidates, task.noVendor);
        entry && task.isOfModel) {
      report.modelMicroseconds +=
          entry->modelMicroseconds * task.candidates.launches;
      report.microseconds += entry->microseconds * task.candidates.launches;
    }
  if (ways) {
    if (tuneOptions.vendor)
      asking.vendor = std::shared_ptr<const driver::VendorChooser>(
          std::shared_ptr<void>(), &chooser);
    Candidates candidates = planCandidates(*ways, module, asking, chooser);
    if (candidates.candidates.size() > 1)
      tuner.run(candidates);
  }
  report.seconds = bench.now() - begin;
  return report;
}
