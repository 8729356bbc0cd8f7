//===- CompileLike.cpp - compiling a graph for other sizes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. The plan's graph in the new sizes must be the graph that was given.
//  2. The plan's regions in the new sizes are lowered with its decisions. A
//     text that comes out as it was is right for these sizes, because it was
//     made for them.
//  3. A size of 1 (or 0) simplifies away what depends on it, so texts differ.
//     Where the region has its old text both at 2 and at 3, the text knows
//     nothing of the size, and is kept. Grid and extents are those that the
//     same lowering gives for 1.
//===----------------------------------------------------------------------===//
#include "BuildProgram.h"
#include "GraphDigest.h"
#include "fusec/Dialect/Graph/Transforms/Resize.h"
#include "fusec/Driver/Diagnostics.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;
using Shapes = SmallVector<SmallVector<int64_t>>;

static Shapes shapesOf(func::FuncOp function) {
  Shapes shapes;
  for (Type type : function.getArgumentTypes())
    shapes.push_back(llvm::to_vector(cast<RankedTensorType>(type).getShape()));
  return shapes;
}

static func::FuncOp entryOf(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

/// The digest of what `module`, which changes, simplifies to: what one round
/// leaves may depend on how the graph came about.
static llvm::Expected<std::string> digestOf(ModuleOp module,
                                            const CompileOptions &options) {
  constexpr unsigned kMaxRounds = 4;
  std::string digest = graphDigest(entryOf(module));
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    if (llvm::Error error = simplifyGraph(module, options))
      return error;
    std::string next = graphDigest(entryOf(module));
    if (next == digest)
      break;
    digest = std::move(next);
  }
  return digest;
}

/// Whether the plan's graph in sizes `shapes` is the one of `digest`; else why
/// not.
static llvm::Error checkSame(const Plan &plan, const Shapes &shapes,
                             const std::string &digest) {
  OwningOpRef<ModuleOp> graph = plan.graph.get().clone();
  if (llvm::Error error = graph::resize(entryOf(*graph), shapes))
    return error;
  llvm::Expected<std::string> found = digestOf(*graph, plan.options);
  if (!found)
    return found.takeError();
  if (*found == digest)
    return llvm::Error::success();
  return llvm::createStringError(
      "it is another graph: its ops or element types differ, or a constant or "
      "an attribute depends on a size that changed");
}

/// The program of the plan's regions in sizes `shapes`.
static llvm::Expected<Compilation>
buildFor(const Plan &plan, const Shapes &shapes, const StageObserver &observer,
         OwningOpRef<ModuleOp> &module, ModuleOp counted = {}) {
  module = plan.regions.get().clone();
  if (llvm::Error error = graph::resize(entryOf(*module), shapes))
    return error;
  observer(Stage::Fused, *module);
  return buildProgram(*module, plan.options, plan.decisions, observer, &plan,
                      /*record=*/nullptr, counted);
}

//===----------------------------------------------------------------------===//
// Sizes of one and zero
//===----------------------------------------------------------------------===//

/// The buffers of a launch that are arguments by themselves, in order.
static SmallVector<runtime::BufferRef>
buffersOf(const runtime::Launch &launch) {
  SmallVector<runtime::BufferRef> buffers;
  for (const runtime::KernelArg &arg : launch.args)
    if (const auto *buffer = std::get_if<runtime::BufferRef>(&arg))
      buffers.push_back(*buffer);
  return buffers;
}

static bool isSame(const runtime::ScalarArg &a, const runtime::ScalarArg &b) {
  return a.bytes == b.bytes && a.value == b.value;
}

static bool isSame(const runtime::TableArg &a, const runtime::TableArg &b) {
  return llvm::equal(a.fields, b.fields, [](const auto &x, const auto &y) {
    if (x.index() != y.index())
      return false;
    if (const auto *scalar = std::get_if<runtime::ScalarArg>(&x))
      return isSame(*scalar, std::get<runtime::ScalarArg>(y));
    return std::get<runtime::BufferRef>(x) == std::get<runtime::BufferRef>(y);
  });
}

/// The map for `size`, of which `a` and `b` are those for 2 and 3; nothing if
/// they differ in more than extents, or in one that is no multiple of the size:
/// of two sizes that changed the product is one, and not linear.
static std::optional<runtime::TensorMapArg>
mapFor(int64_t size, const runtime::TensorMapArg &a,
       const runtime::TensorMapArg &b) {
  if (!(a.buffer == b.buffer) || a.byteOffset != b.byteOffset ||
      a.strides != b.strides || a.box != b.box ||
      a.dims.size() != b.dims.size())
    return std::nullopt;
  runtime::TensorMapArg result = a;
  for (auto [dim, other] : llvm::zip(result.dims, b.dims)) {
    if (dim == other)
      continue;
    if (size < 1 || dim % 2 || dim / 2 * 3 != other)
      return std::nullopt;
    dim = dim / 2 * size;
  }
  return result;
}

/// The launch for `size` of a text whose program was made for 2 and for 3, with
/// grid and extents for `size` both times; nothing if they are not one launch.
static std::optional<runtime::Launch>
launchFor(int64_t size, const runtime::Launch &a, const runtime::Launch &b) {
  if (a.args.size() != b.args.size() || a.grid != b.grid ||
      a.dynamicSharedBytes != b.dynamicSharedBytes ||
      buffersOf(a) != buffersOf(b))
    return std::nullopt;
  runtime::Launch result = a;
  for (auto [arg, other] : llvm::zip(result.args, b.args)) {
    if (arg.index() != other.index())
      return std::nullopt;
    if (auto *map = std::get_if<runtime::TensorMapArg>(&arg)) {
      auto next = mapFor(size, *map, std::get<runtime::TensorMapArg>(other));
      if (!next)
        return std::nullopt;
      *map = std::move(*next);
    } else if (const auto *scalar = std::get_if<runtime::ScalarArg>(&arg)) {
      if (!isSame(*scalar, std::get<runtime::ScalarArg>(other)))
        return std::nullopt;
    } else if (const auto *table = std::get_if<runtime::TableArg>(&arg)) {
      if (!isSame(*table, std::get<runtime::TableArg>(other)))
        return std::nullopt;
    }
  }
  return result;
}

/// Kernels that no launch names go, the others move up.
static void dropUnused(Compilation &compilation) {
  runtime::Program &program = compilation.program;
  std::vector<std::optional<uint32_t>> moved(program.kernels.size());
  std::vector<runtime::Kernel> kept;
  for (runtime::Step &step : program.steps)
    if (auto *launch = std::get_if<runtime::Launch>(&step)) {
      std::optional<uint32_t> &to = moved[launch->kernel];
      if (!to) {
        to = kept.size();
        kept.push_back(std::move(program.kernels[launch->kernel]));
      }
      launch->kernel = *to;
    }
  program.kernels = std::move(kept);
  for (KernelSummary &summary : compilation.kernels)
    summary.kernel =
        std::get<runtime::Launch>(program.steps[summary.step]).kernel;
}

/// Puts the texts of `two` and `three` in `small`, which is the program for
/// `size`, where they are those of the plan.
static void takeTexts(const llvm::StringSet<> &texts, int64_t size,
                      Compilation &small, const Compilation &two,
                      const Compilation &three) {
  runtime::Program &program = small.program;
  auto isLike = [&](const Compilation &other) {
    return other.program.steps.size() == program.steps.size() &&
           other.kernels.size() == small.kernels.size() &&
           other.program.temporaries.size() == program.temporaries.size() &&
           other.program.constants.size() == program.constants.size();
  };
  if (!isLike(two) || !isLike(three))
    return;
  for (auto [own, a, b] :
       llvm::zip(small.kernels, two.kernels, three.kernels)) {
    const runtime::Kernel &text = two.program.kernels[a.kernel];
    if (own.step != a.step || own.step != b.step ||
        !texts.contains(text.source) ||
        three.program.kernels[b.kernel].source != text.source ||
        texts.contains(program.kernels[own.kernel].source))
      continue;
    auto launchOf = [&](const runtime::Program &of) -> const runtime::Launch & {
      return std::get<runtime::Launch>(of.steps[own.step]);
    };
    std::optional<runtime::Launch> launch =
        launchFor(size, launchOf(two.program), launchOf(three.program));
    if (!launch || buffersOf(*launch) != buffersOf(launchOf(program)))
      continue;
    launch->kernel = program.kernels.size();
    program.kernels.push_back(text);
    program.steps[own.step] = std::move(*launch);
    own.decidedAnew = false;
  }
  llvm::erase_if(program.aliases, [&](const runtime::Alias &alias) {
    return !llvm::is_contained(two.program.aliases, alias) ||
           !llvm::is_contained(three.program.aliases, alias);
  });
  // One launch may have brought a text that another one has, too.
  llvm::StringMap<uint32_t> first;
  for (runtime::Step &step : program.steps)
    if (auto *launch = std::get_if<runtime::Launch>(&step))
      launch->kernel = first
                           .try_emplace(program.kernels[launch->kernel].source,
                                        launch->kernel)
                           .first->second;
  dropUnused(small);
}

/// `shapes` with the size `from` replaced by `to` wherever it is not what the
/// plan has.
static Shapes replaceSize(Shapes shapes, const Shapes &planned, int64_t from,
                          int64_t to) {
  for (auto [shape, before] : llvm::zip(shapes, planned))
    for (auto [size, old] : llvm::zip(shape, before))
      if (size == from && size != old)
        size = to;
  return shapes;
}

/// Gives `result`, made for `shapes`, the plan's texts where a size that
/// changed is 1 or 0. Where that fails it stays as it is.
static void keepTexts(const Plan &plan, const Shapes &shapes,
                      const Shapes &planned, ModuleOp regions,
                      Compilation &result) {
  StageObserver nobody = [](Stage, Operation *) {};
  for (int64_t size : {1, 0}) {
    Shapes atTwo = replaceSize(shapes, planned, size, 2);
    if (atTwo == shapes || replaceSize(shapes, planned, 1 - size, 2) != shapes)
      continue;
    OwningOpRef<ModuleOp> moduleAtTwo, moduleAtThree;
    auto two = buildFor(plan, atTwo, nobody, moduleAtTwo, regions);
    auto three = buildFor(plan, replaceSize(shapes, planned, size, 3), nobody,
                          moduleAtThree, regions);
    if (two && three)
      takeTexts(plan.texts, size, result, *two, *three);
    if (!two)
      llvm::consumeError(two.takeError());
    if (!three)
      llvm::consumeError(three.takeError());
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

static void count(const Plan &plan, const Compilation &result,
                  FollowReport &report) {
  for (const runtime::Kernel &kernel : result.program.kernels)
    ++(plan.texts.contains(kernel.source) ? report.sharedKernels
                                          : report.newKernels);
}

static llvm::Expected<Compilation> follow(const Plan &plan, ModuleOp module,
                                          const StageObserver &observer) {
  func::FuncOp entry = entryOf(module);
  Shapes shapes = shapesOf(entry), planned = shapesOf(entryOf(*plan.graph));
  OwningOpRef<ModuleOp> copy = module.clone();
  llvm::Expected<std::string> digest = digestOf(*copy, plan.options);
  if (!digest)
    return digest.takeError();
  if (llvm::Error error = checkSame(plan, shapes, *digest))
    return error;
  OwningOpRef<ModuleOp> regions;
  auto result = buildFor(plan, shapes, observer, regions);
  if (!result)
    return result;
  keepTexts(plan, shapes, planned, *regions, *result);
  return result;
}

llvm::Expected<Compilation> driver::compileLike(const Plan &plan,
                                                ModuleOp module,
                                                FollowReport &report,
                                                const StageObserver &observer) {
  StageObserver observe = [&](Stage stage, Operation *op) {
    if (observer)
      observer(stage, op);
  };
  llvm::Expected<func::FuncOp> entry = findEntry(module);
  if (!entry)
    return entry.takeError();
  if (llvm::Error error = simplifyGraph(module, plan.options))
    return error;
  observe(Stage::Graph, module);
  llvm::Expected<Compilation> result = follow(plan, module, observe);
  if (!result && plan.options.batchInvariant)
    return llvm::createStringError("batch-invariant: " +
                                   llvm::toString(result.takeError()));
  if (!result) {
    report.reason = llvm::toString(result.takeError());
    result = compile(module, plan.options, observer);
  }
  if (!result)
    return result;
  if (plan.options.batchInvariant)
    for (const KernelSummary &kernel : result->kernels)
      if (kernel.decidedAnew)
        return llvm::createStringError(
            "batch-invariant: a kernel of " +
            (kernel.ops.empty() ? "no ops" : kernel.ops.front()) +
            " has no program of the same choices in this size");
  count(plan, *result, report);
  return result;
}
