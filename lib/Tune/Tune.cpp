//===- Tune.cpp - a search for each kernel of a graph ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. Compile the graph as often as the kernel with the most candidates has
//     them: in the i-th compilation each kernel is its i-th candidate.
//  2. Search each kernel's fastest, the longest kernels first, each in its
//     share of the time that is left.
//  3. Tell the chooser and the record.
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
/// Answers every question by the same position, or by the model's choice.
struct FixedChooser final : ScheduleChooser {
  explicit FixedChooser(size_t position) : position(position) {}
  ScheduleAnswer choose(const ScheduleQuestion &question) const override {
    return {position < question.candidates.size() ? position : 0, ""};
  }
  size_t position;
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
};
} // namespace

static Expected<driver::Compilation>
compileWith(size_t position, mlir::ModuleOp module,
            driver::CompileOptions options) {
  options.chooser = std::make_shared<FixedChooser>(position);
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

/// The kernels with candidates of `module`, with as many as there is time for.
static Expected<std::vector<Task>>
findTasks(mlir::ModuleOp module, const driver::CompileOptions &options,
          Bench &bench, double deadline) {
  Expected<driver::Compilation> model = compileWith(0, module, options);
  if (!model)
    return model.takeError();
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
    Expected<driver::Compilation> other = compileWith(i, module, options);
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
  // Of equal ones the first in the program.
  std::vector<Task> sorted;
  for (Task &task : tasks)
    sorted.insert(llvm::upper_bound(sorted, task,
                                    [](const Task &a, const Task &b) {
                                      return a.microseconds > b.microseconds;
                                    }),
                  std::move(task));
  return sorted;
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

Expected<TuneReport> fusec::tune::tune(mlir::ModuleOp module,
                                       const driver::CompileOptions &options,
                                       Bench &bench, RecordChooser &chooser,
                                       const Machine &machine,
                                       const runtime::TuningRecord *record,
                                       const TuneOptions &tuneOptions) {
  double begin = bench.now(), end = begin + tuneOptions.seconds;
  driver::CompileOptions asking = options;
  asking.vendor = tuneOptions.vendor ? std::make_shared<NoVendor>() : nullptr;
  Expected<std::vector<Task>> tasks = findTasks(
      module, asking, bench, begin + kCompileShare * tuneOptions.seconds);
  if (!tasks)
    return tasks.takeError();
  TuneReport report;
  for (auto [i, task] : llvm::enumerate(*tasks)) {
    const Candidates &candidates = task.candidates;
    TunedKernel &kernel = report.kernels.emplace_back();
    kernel.problem = candidates.problem;
    kernel.title = candidates.title;
    kernel.launches = candidates.launches;
    kernel.noVendor = task.noVendor;
    double now = bench.now();
    if (now >= end) {
      kernel.failure = "the time was over";
      continue;
    }
    SearchOptions search;
    search.deadline = now + (end - now) / double(tasks->size() - i);
    search.progress = [&, i = i](size_t settled, unsigned, auto best) {
      if (!tuneOptions.progress)
        return;
      TuneProgress progress{i, tasks->size(), candidates.title,
                            candidates.candidates.size(), settled};
      if (best) {
        progress.best = candidates.candidates[best->first].name;
        progress.bestMicroseconds = best->second;
      }
      tuneOptions.progress(progress);
    };
    Expected<SearchResult> result =
        fusec::tune::search(candidates, bench, search);
    if (!result) {
      kernel.failure = llvm::toString(result.takeError());
      continue;
    }
    kernel.result = std::move(*result);
    if (!kernel.result.isMeasured)
      continue;
    runtime::TuningEntry entry = entryOf(kernel, candidates, machine);
    report.modelMicroseconds += entry.modelMicroseconds * kernel.launches;
    report.microseconds += entry.microseconds * kernel.launches;
    if (record)
      if (llvm::Error error = record->insert(entry))
        report.notKept = llvm::toString(std::move(error));
    chooser.add(std::move(entry));
  }
  report.seconds = bench.now() - begin;
  return report;
}
