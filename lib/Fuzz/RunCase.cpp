//===- RunCase.cpp - one random graph, several ways -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fuzz/RunCase.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;
using reference::Bounds;
using session::TargetKind;
using verify::Way;

/// Steps of an evaluation: about a second.
static constexpr int64_t kMaxSteps = int64_t(1) << 28;

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

static void addOps(func::FuncOp function, Features &features) {
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        if (auto dtype = graph::toDType(type.getElementType()))
          features.insert(
              ("op:" + op->getName().getStringRef() + " " + fusec::name(*dtype))
                  .str());
  });
}

static void addDecisions(const fusion::FusionDecisions &decisions,
                         Features &features) {
  auto add = [&](llvm::StringRef what,
                 const std::optional<analysis::Refusal> &why) {
    if (why)
      features.insert((what + analysis::name(why->reason)).str());
  };
  for (const fusion::KernelDecision &kernel : decisions.kernels) {
    features.insert(("kernel:" + analysis::name(kernel.kind)).str());
    add("split:", kernel.split);
    add("alone:", kernel.alone);
  }
  for (const fusion::EdgeDecision &edge : decisions.edges) {
    add("refusal:", edge.refusal);
    if (edge.fused && edge.producer.name && edge.consumer.name)
      features.insert(("edge:" + edge.producer.name->getStringRef() + ">" +
                       edge.consumer.name->getStringRef())
                          .str());
  }
}

static void addStage(driver::Stage stage, Operation *root, Features &features) {
  if (stage != driver::Stage::Tile && stage != driver::Stage::Simt)
    return;
  llvm::StringRef what = stage == driver::Stage::Tile ? "tile:" : "simt:";
  root->walk([&](Operation *op) {
    if (Operation *parent = op->getParentOp())
      features.insert((what + parent->getName().getStringRef() + ">" +
                       op->getName().getStringRef())
                          .str());
  });
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static bool hasLoopIn(func::FuncOp function) {
  return function
      .walk([&](Operation *op) {
        return op != function && op->getNumRegions() ? WalkResult::interrupt()
                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// Runs ways of a case and keeps the reports.
class Runner {
public:
  Runner(CaseReport &report, bool hasLoop,
         llvm::function_ref<void(llvm::StringRef)> entering)
      : report(report), hasLoop(hasLoop), entering(entering) {}

  void run(const Case &subject, llvm::ArrayRef<Bounds> bounds, const Way &way,
           const llvm::Twine &suffix = "") {
    std::string name = (way.name() + suffix).str();
    entering(name);
    auto outputs = runWay(
        subject.model, way, subject.inputs,
        [&](const session::Compiled &compiled) {
          addDecisions(compiled.compilation.decisions, report.features);
          addPaths(compiled.compilation.program, report.features);
        },
        [&](driver::Stage stage, Operation *root) {
          addStage(stage, root, report.features);
        });
    verify::Judgement judgement =
        outputs ? verify::judge(subject.model.outputs, bounds, *outputs)
                : verify::judge(outputs.takeError());
    if (judgement.outcome == verify::Outcome::Unsupported &&
        !mayRefuse(way.target.kind))
      judgement.outcome = verify::Outcome::Failed;
    report.ways.push_back({name, std::move(judgement)});
  }

private:
  /// Loops have no GPU kernels. Any other graph that does not compile is a
  /// finding.
  bool mayRefuse(TargetKind kind) const {
    return hasLoop &&
           (kind == TargetKind::Cuda || kind == TargetKind::Emulator);
  }

  CaseReport &report;
  bool hasLoop;
  llvm::function_ref<void(llvm::StringRef)> entering;
};
} // namespace

/// With `hasGpu` the bounds leave room for sums that GPUs alone make.
static llvm::Expected<std::vector<Bounds>> boundsOf(Case &subject,
                                                    bool hasGpu) {
  reference::EvaluateOptions options;
  options.maxSteps = kMaxSteps;
  return reference::evaluateBounds(subject.model.function(), subject.inputs,
                                   options, hasGpu);
}

/// The case changed by moves, with the bounds of the outputs that it had.
static llvm::Error runMoved(const Case &original, llvm::ArrayRef<Bounds> bounds,
                            const Way &way, Rng &rng, Runner &runner,
                            bool hasGpu) {
  llvm::Expected<Case> changed = fuzz::clone(original);
  if (!changed)
    return changed.takeError();
  llvm::Expected<Move> move = applyMoves(*changed, rng);
  if (!move)
    return move.takeError();
  std::vector<Bounds> wanted;
  llvm::Expected<std::vector<Bounds>> fresh = boundsOf(*changed, hasGpu);
  if (!fresh)
    return fresh.takeError();
  for (auto [i, output] : llvm::enumerate(move->outputs))
    wanted.push_back(output < 0 ? (*fresh)[i] : bounds[output]);
  runner.run(*changed, wanted, way, " after " + move->what);
  return llvm::Error::success();
}

CaseReport fuzz::runCase(uint64_t seed, llvm::ArrayRef<session::Target> targets,
                         llvm::function_ref<void(llvm::StringRef)> entering) {
  CaseReport report;
  auto fail = [&](const char *what, llvm::Error error) {
    report.failure = what + llvm::toString(std::move(error));
    return report;
  };
  entering("making the graph");
  llvm::Expected<Case> subject = generate(seed);
  if (!subject)
    return fail("generator: ", subject.takeError());
  addOps(subject->model.function(), report.features);
  entering("deriving the bounds");
  bool hasGpu = llvm::any_of(targets, [](const session::Target &target) {
    return target.kind == TargetKind::Cuda;
  });
  llvm::Expected<std::vector<Bounds>> bounds = boundsOf(*subject, hasGpu);
  if (!bounds)
    return fail("bounds: ", bounds.takeError());
  Rng rng(~seed);
  Runner runner(report, hasLoopIn(subject->model.function()), entering);
  Way reference;
  reference.target.kind = TargetKind::Reference;
  runner.run(*subject, *bounds, reference);
  for (const session::Target &target : targets) {
    driver::CompileOptions options;
    options.target = target.info;
    auto ways = verify::waysOf(target, options);
    runner.run(*subject, *bounds, ways.front());
    if (ways.size() > 1 && rng.chance(1, 3))
      runner.run(*subject, *bounds, ways[rng.between(1, ways.size() - 1)]);
    if (rng.chance(1, 3))
      if (llvm::Error error =
              runMoved(*subject, *bounds, ways.front(), rng, runner, hasGpu))
        return fail("moves: ", std::move(error));
    if (rng.chance(1, 4)) {
      Way placed = ways.front();
      placed.placement = randomPlacement(rng, *subject);
      runner.run(*subject, *bounds, placed);
    }
    // Short rows in clusters, of which graphs of this size have none.
    constexpr int64_t kRowBytes[] = {8, 48, 200, 1024};
    if (target.info.maxClusterBlocks > 1 &&
        target.kind != session::TargetKind::Host && rng.chance(1, 3)) {
      Way clusters = ways.front();
      clusters.options.target.rowBlockBytes =
          kRowBytes[rng.between(0, std::size(kRowBytes) - 1)];
      runner.run(*subject, *bounds, clusters);
    }
  }
  return report;
}
