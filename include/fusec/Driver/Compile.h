//===- Compile.h - from a graph to a Program --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DRIVER_COMPILE_H
#define FUSEC_DRIVER_COMPILE_H

#include "fusec/Conversion/GraphToTile.h"
#include "fusec/Fusion/FormGroups.h"
#include "fusec/Runtime/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace fusec::driver {

/// Knows where the vendor's library was timed to be faster than kernels.
/// Thread-safe.
class VendorChooser {
public:
  virtual ~VendorChooser() = default;
  /// The algorithm for a product that is, with its epilogue, the whole of a
  /// region; `problem` is that of ScheduleQuestion. Nothing: the kernel.
  virtual std::optional<runtime::VendorAlgorithm>
  algorithmFor(const std::string &problem) const = 0;
};

/// Options of a compilation for GPU kernel text (CUDA and emulator).
struct CompileOptions {
  TargetInfo target = TargetInfo::h200();
  NumericsMode numerics = NumericsMode::Default;
  /// Off: one kernel per graph op.
  bool fuse = true;
  /// Let the planner put small independent regions side by side in one launch
  /// and make one product of several of one operand.
  bool horizontal = true;
  /// What is computed for an item of the outermost axis (the batch) has the
  /// same bits whatever its size (fusec/Driver/BatchInvariant.h).
  bool batchInvariant = false;
  /// Optional passes that do not run, of `optionalPasses()`. To find out which
  /// one is at fault.
  std::vector<std::string> disabledPasses = {};
  /// Picks where a schedule offers several ways to build a kernel; null: the
  /// model does.
  std::shared_ptr<const ScheduleChooser> chooser = nullptr;
  /// Asked where the chooser was, about products that the vendor's library can
  /// compute; null: kernels alone. Not asked for NumericsMode::Exact, nor where
  /// choices are those of other sizes (`compileLike`, `batchInvariant`).
  std::shared_ptr<const VendorChooser> vendor = nullptr;
};

/// What the chooser of a compilation was asked for a kernel, and answered.
struct ScheduleDecision {
  ScheduleQuestion question;
  ScheduleAnswer answer;
  /// What the kernel reads and writes: the first buffers among its launch's
  /// arguments, in order.
  std::vector<runtime::TensorSpec> inputs, outputs;
  /// What the vendor's library could compute instead, if the region is a
  /// product with an epilogue of its own, and how it does.
  std::optional<runtime::MatrixProduct> product = std::nullopt;
  std::optional<runtime::VendorAlgorithm> vendor = std::nullopt;
};

/// A pass that only makes a graph or program better: all are right without it.
struct OptionalPass {
  /// As pass pipelines name it.
  llvm::StringRef name;
  llvm::StringRef brief;
  /// It runs on graphs, so for every target.
  bool onGraphs = false;
};
llvm::ArrayRef<OptionalPass> optionalPasses();

/// A point of the pipeline at which IR can be looked at.
enum class Stage : uint8_t {
  /// Primitive ops, canonicalised, constants folded.
  Graph,
  /// graph.fusion regions.
  Fused,
  /// A module of tile.kernel.
  Tile,
  /// A module of simt.kernel.
  Simt,
};

/// Sees the IR after each stage; must not change it.
using StageObserver = std::function<void(Stage, mlir::Operation *)>;

/// One launch of the result and where it comes from.
struct KernelSummary {
  analysis::KernelKind kind = analysis::KernelKind::Pointwise;
  /// Regions side by side in the launch.
  unsigned parts = 0;
  /// Ops of the region, and for each where the graph file has it.
  std::vector<std::string> ops, places;
  /// Who holds a row, where that is more than the registers of a block.
  std::string schedule;
  unsigned inputs = 0, outputs = 0;
  /// Bytes of inputs and outputs of one launch, each counted once.
  int64_t bytes = 0;
  /// Bytes that the blocks of one launch ask for: as `bytes`, but a stencil
  /// reads its halos and a contraction each operand once per tile of its
  /// result. Caches serve a part of it.
  double requestedBytes = 0;
  /// The planner's estimate of one launch.
  analysis::CostEstimate cost = {};
  /// Index into Program::kernels.
  uint32_t kernel = 0;
  /// Index into Program::steps.
  uint32_t step = 0;
  /// Of `compileLike`: what the plan decided is not legal in these sizes.
  bool decidedAnew = false;
  /// Where a chooser was asked. Equal regions have equal ones.
  std::optional<ScheduleDecision> decision = std::nullopt;
};

/// What compilation yields.
struct Compilation {
  runtime::Program program;
  /// Of what runs: a region that is not built as planned is recorded as split.
  /// Empty without fusion.
  fusion::FusionDecisions decisions;
  /// In order of launch; with fusion parallel to decisions.kernels.
  std::vector<KernelSummary> kernels;
};

struct Plan;

/// Registers the dialects that graphs and their lowerings use.
void registerDialects(mlir::DialectRegistry &registry);

/// The only function of `module`, or an error that says what was found.
llvm::Expected<mlir::func::FuncOp> findEntry(mlir::ModuleOp module);

/// Decomposes, canonicalises, merges and folds the function, in place.
llvm::Error simplifyGraph(mlir::ModuleOp module,
                          const CompileOptions &options = {});

/// Forms regions in the simplified function, in place.
llvm::Expected<fusion::FusionDecisions>
planGraph(mlir::ModuleOp module, const CompileOptions &options);

/// Compiles the only function of `module` (graph dialect, static shapes) to
/// kernels. Changes `module`. Errors carry the located diagnostics. `plan`, if
/// not null, gets the decisions for `compileLike` (fusec/Driver/Plan.h).
llvm::Expected<Compilation> compile(mlir::ModuleOp module,
                                    const CompileOptions &options = {},
                                    const StageObserver &observer = {},
                                    Plan *plan = nullptr);

} // namespace fusec::driver

#endif // FUSEC_DRIVER_COMPILE_H
