//===- Emitter.h - state of writing one kernel ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every SSA value gets a generated name; nothing from the graph file can reach
// the text. Emit*.cpp each write the ops of one kind.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_EMITTER_H
#define FUSEC_LIB_TARGET_CUDA_EMITTER_H

#include "AccessPairs.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Runtime/Program.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <string>

namespace fusec::cuda {

class Emitter {
public:
  Emitter(llvm::raw_ostream &os, bool wideOffsets)
      : os(os), indexType(wideOffsets ? "i64" : "i32") {}

  /// The prelude's name of a scalar type; empty for a type without one.
  std::string typeName(mlir::Type type);
  /// The unsigned integer of the same width ("u32" for i32 and i1 stays bool).
  std::string unsignedName(mlir::Type type);
  /// The text of a value: its name, or a literal for a constant.
  std::string use(mlir::Value value);
  /// Gives `value` a fresh name with `prefix` and returns it.
  std::string name(mlir::Value value, llvm::StringRef prefix = "v");
  /// Fixes the text of a value.
  void setText(mlir::Value value, std::string text) { texts[value] = text; }

  /// Starts a line at the current indentation.
  llvm::raw_ostream &line();
  /// `T v = text;` for the only result of `op`.
  mlir::LogicalResult define(mlir::Operation *op, const llvm::Twine &text);

  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);

  // By kind; each returns failure with a diagnostic for what it cannot write.
  bool isArithOrMath(mlir::Operation *op);
  mlir::LogicalResult emitArith(mlir::Operation *op);
  mlir::LogicalResult emitMath(mlir::Operation *op);
  mlir::LogicalResult emitControl(mlir::Operation *op);
  mlir::LogicalResult emitMemory(mlir::Operation *op);
  mlir::LogicalResult emitContract(simt::ContractOp op);
  void emitShared(simt::SharedOp op);
  /// The function of the prelude that rounds two operands of what is made by
  /// `op` and writes both results, and the value that it takes; empty for
  /// others.
  struct PairedRounding {
    std::string function;
    mlir::Value operand;
    /// Of an integer, what makes it the f32 that is rounded.
    std::string before;
  };
  PairedRounding pairedRounding(mlir::Operation *op);
  /// Writes `block` for two elements in lock step, whose variable has the texts
  /// `first` and `second`.
  mlir::LogicalResult emitPair(mlir::Block &block, mlir::Value variable,
                               const std::string &first,
                               const std::string &second);
  /// Transaction barriers at which so many bytes come to the block.
  void beginMeetings(llvm::ArrayRef<int64_t> bytes);
  void emitGridWait(simt::GridWaitOp op);

  /// Register arrays that are read by other calls than the prelude's: the text
  /// up to the arguments register, buffer, offset and mask.
  llvm::DenseMap<mlir::Value, std::string> reads;
  /// If set, another text for an op where it gives one; an empty one if the op
  /// is not to be written.
  std::function<std::optional<std::string>(mlir::Operation *)> shorten;

  llvm::raw_ostream &os;
  std::string indexType;
  unsigned indent = 1;
  /// Text that belongs before the kernel. In it and in the body, kEntryMark
  /// stands for the kernel's name, which is known last.
  std::string before;
  static constexpr char kEntryMark = '$';
  /// Whether functions of select.cuh are called, which then belong there, too.
  bool usesSelect = false;

  /// The block's position along each dimension of its part's grid.
  std::array<std::string, 3> blockIds = {"cta_x()", "cta_y()", "cta_z()"};
  /// If set, stores to global memory happen where it holds, without branches.
  std::string storeCondition;
  /// If set, that is handed them, with that condition, instead of memory.
  std::string storeSink;
  /// Whether loops over register arrays are written for two elements at a time
  /// where they round: there are instructions for pairs.
  bool pairsRoundings = false;
  /// Whether loops whose accesses have one mask test it once: NVRTC takes 0.88
  /// of the time for a chain so, whose threads need 72 registers for 96.
  bool testsOnce = false;
  /// An access whose mask is known to hold.
  mlir::Operation *tested = nullptr;
  /// Accesses that are written with later ones.
  AccessPairs pairs;
  /// Loads that happen only where it holds, too.
  llvm::DenseSet<mlir::Operation *> conditionalLoads;
  /// If set, shared arrays lie in the arena of that name; `arenaBytes` is what
  /// they take of it.
  std::string arena;
  int64_t arenaBytes = 0;
  /// Whether another function has waited already.
  bool waited = false;
  /// What dynamic arrays take of the memory that the launch asks for.
  int64_t dynamicBytes = 0;
  /// Where arrays in an arena may start: as FUSEC_SHARED aligns its own.
  static constexpr int64_t kArenaAlign = 128;

private:
  llvm::DenseMap<mlir::Value, std::string> texts;
  llvm::StringMap<unsigned> counters;
};

struct RowBuffers;

/// A parameter of a kernel, named by the emitter.
struct Parameter {
  /// "const f32 *", "FUSEC_ROWS(const f32) ", "i32 ".
  std::string type;
  std::string name;
  bool isBuffer = false;
};
llvm::SmallVector<Parameter>
nameParameters(Emitter &emitter, simt::KernelOp kernel, const RowBuffers &rows);

/// A kernel of this text: the entry is named after it, kEntryMark replaced.
runtime::Kernel makeKernel(llvm::StringRef before, llvm::StringRef macro,
                           llvm::StringRef rest, simt::KernelOp kernel);

/// A literal of a float or integer attribute in the type `typeName`.
std::string literal(mlir::Attribute value, llvm::StringRef typeName);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_EMITTER_H
