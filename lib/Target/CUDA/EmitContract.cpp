//===- EmitContract.cpp - the hole struct of a contraction ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes what docs/skeleton-contraction.md asks for: a struct whose data are
// the kernel's buffers and extents and whose members are the holes, and the
// call of the skeleton. An operand hole becomes two functions, split where k
// first matters.
//===----------------------------------------------------------------------===//
#include "ContractBoxes.h"
#include "Emitter.h"
#include "EpilogueHole.h"
#include "HolePairs.h"
#include "HoleSplit.h"
#include "HoleStream.h"
#include "StatisticHoles.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "fusec/Target/CUDA/GemmConfig.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

namespace {

class HoleWriter {
public:
  HoleWriter(Emitter &kernel, simt::ContractOp op)
      : kernel(kernel), op(op), config(GemmConfig::fromNumbers(op.getConfig())),
        lhsBoxes(boxedMatrix(op, /*isLhs=*/true)),
        rhsBoxes(boxedMatrix(op, /*isLhs=*/false)), results(storedMatrix(op)),
        os(kernel.before) {}
  LogicalResult write();

private:
  void collectMembers();
  LogicalResult writeOperand(char side, Region &hole, Value base,
                             int64_t vector, bool isOuter);
  void writeBox(char side, const std::optional<GemmMatrix> &matrix,
                bool isOuter);
  LogicalResult writePrepare(char side, Block &hole, const HoleSplit &split);
  LogicalResult writeSource(char side, Block &hole, const HoleSplit &split,
                            Value base);
  LogicalResult writeValues(char side, Block &hole, const HoleSplit &split,
                            int64_t vector);
  void writeYield(Emitter &emitter, Block &hole);
  LogicalResult writeConversion(Block &hole, const HoleSplit &split,
                                const HoleStream &stream,
                                const std::optional<HolePairs> &pairs,
                                bool isMasked);
  LogicalResult writeStream(char side, Block &hole, const HoleSplit &split,
                            int64_t vector);
  LogicalResult writeEpilogue(Block &hole);
  LogicalResult writePrefetch(Block &hole);
  LogicalResult writeAxes();
  /// The argument of the call that brings B.
  std::string mapsOfB();
  /// Writes ops of the hole that are, or are not, in the late part.
  LogicalResult writePart(Emitter &emitter, Block &hole, const HoleSplit &split,
                          bool late);
  /// An emitter for a function body that knows the members.
  Emitter function() {
    Emitter emitter(os, kernel.indexType == "i64");
    emitter.indent = 2;
    for (auto [value, text] : members)
      emitter.setText(value, text);
    return emitter;
  }
  /// Names an i32 parameter of a function as a value of type index.
  void bind(Emitter &emitter, Value value, const char *parameter) {
    emitter.setText(value, kernel.indexType == "i64"
                               ? std::string("(i64)") + parameter
                               : std::string(parameter));
  }
  std::string pointerType(Value buffer) {
    auto arg = cast<BlockArgument>(buffer);
    auto owner = cast<simt::KernelOp>(arg.getOwner()->getParentOp());
    std::string element =
        kernel.typeName(cast<MemRefType>(buffer.getType()).getElementType());
    return (arg.getArgNumber() < owner.getReadOnly() ? "const " : "") +
           element + " *";
  }

  Emitter &kernel;
  simt::ContractOp op;
  GemmConfig config;
  /// Operands that the copy engine brings.
  std::optional<GemmMatrix> lhsBoxes, rhsBoxes;
  /// Results that it takes away.
  std::optional<GemmMatrix> results;
  llvm::raw_string_ostream os;
  llvm::MapVector<Value, std::string> members;
};

} // namespace

/// Everything from outside that a hole uses is a data member.
void HoleWriter::collectMembers() {
  auto add = [&](Value value) {
    if (!value || value.getDefiningOp<arith::ConstantOp>() ||
        members.contains(value))
      return;
    std::string name = isa<MemRefType>(value.getType()) ? "p" : "n";
    members[value] = name + std::to_string(members.size()) + "_";
  };
  if (!lhsBoxes)
    add(op.getLhsBase());
  if (!rhsBoxes)
    add(op.getRhsBase());
  for (Value buffer : op.getStates())
    add(buffer);
  for (Value buffer : op.getCounters())
    add(buffer);
  op->walk([&](Operation *inner) {
    Region *hole = inner->getParentRegion();
    if (inner == op || (lhsBoxes && hole == &op.getLhs()) ||
        (rhsBoxes && hole == &op.getRhs()))
      return;
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        add(operand);
  });
}

LogicalResult HoleWriter::writePart(Emitter &emitter, Block &hole,
                                    const HoleSplit &split, bool late) {
  for (Operation &inner : hole.without_terminator())
    if (isa<arith::ConstantOp>(inner) || split.late.contains(&inner) == late)
      if (failed(emitter.emitOp(&inner)))
        return failure();
  return success();
}

LogicalResult HoleWriter::writePrepare(char side, Block &hole,
                                       const HoleSplit &split) {
  os << "  struct Row" << side << " {";
  for (auto [i, value] : llvm::enumerate(split.carried))
    os << " " << kernel.typeName(value.getType()) << " r" << i << ";";
  os << " };\n  FUSEC_METHOD Row" << side << " prepare" << side
     << "(i32 b, i32 outer) const {\n";
  Emitter emitter = function();
  bind(emitter, hole.getArgument(0), "b");
  bind(emitter, hole.getArgument(1), "outer");
  if (failed(writePart(emitter, hole, split, /*late=*/false)))
    return failure();
  os << "    return {";
  for (auto [i, value] : llvm::enumerate(split.carried))
    os << (i ? ", " : "") << emitter.use(value);
  os << "};\n  }\n";
  return success();
}

/// Gives carried values their text in a function that has `row` and `k`.
static void bindRow(Emitter &emitter, const HoleSplit &split) {
  for (auto [i, value] : llvm::enumerate(split.carried))
    emitter.setText(value, "row.r" + std::to_string(i));
}

LogicalResult HoleWriter::writeSource(char side, Block &hole,
                                      const HoleSplit &split, Value base) {
  // The buffer's elements may differ in sign.
  std::string pointer = "const " + kernel.typeName(op.getElementType()) + " *";
  os << "  FUSEC_METHOD " << pointer << "base" << side << "() const { return ("
     << pointer << ")" << members[base] << "; }\n"
     << "  FUSEC_METHOD GemmSource source" << side << "(const Row" << side
     << " &row, i32 k) const {\n";
  Emitter emitter = function();
  bindRow(emitter, split);
  bind(emitter, hole.getArgument(2), "k");
  if (failed(writePart(emitter, hole, split, /*late=*/true)))
    return failure();
  Operation *end = hole.getTerminator();
  os << "    return {" << emitter.use(end->getOperand(0)) << ", "
     << emitter.use(end->getOperand(1)) << "};\n  }\n";
  return success();
}

LogicalResult HoleWriter::writeValues(char side, Block &hole,
                                      const HoleSplit &split, int64_t vector) {
  os << "  static constexpr i32 kVector" << side << " = " << vector << ";\n"
     << "  template <i32 V> FUSEC_METHOD void values" << side << "(const Row"
     << side << " &row, i32 k, " << kernel.typeName(op.getElementType())
     << " (&out)[V]) const {\n";
  Emitter emitter = function();
  bindRow(emitter, split);
  bind(emitter, hole.getArgument(2), "k");
  if (failed(writePart(emitter, hole, split, /*late=*/true)))
    return failure();
  writeYield(emitter, hole);
  return success();
}

void HoleWriter::writeYield(Emitter &emitter, Block &hole) {
  // Equal elements have one register.
  Value values = hole.getTerminator()->getOperand(0);
  bool isSplat = cast<MemRefType>(values.getType()).getNumElements() == 1;
  os << "    FUSEC_UNROLL\n    for (i32 i = 0; i < V; ++i)\n      out[i] = "
     << emitter.use(values) << (isSplat ? "[0];\n  }\n" : "[i];\n  }\n");
}

/// The values as functions that read, by copies or otherwise, and one that
/// computes.
LogicalResult HoleWriter::writeStream(char side, Block &hole,
                                      const HoleSplit &split, int64_t vector) {
  HoleStream stream(hole, split.late);
  const bool isDirect = config.loop == GemmLoop::Direct;
  SmallVector<Value> staged, kept;
  for (auto [array, run] : stream.arrays)
    (stream.isStaged(array) ? staged : kept).push_back(array);
  auto writeMembers = [&](const char *name, ArrayRef<Value> arrays) {
    os << "  struct " << name << side << " {";
    for (Value array : arrays)
      os << " " << stream.typeOf(kernel, array) << " " << stream.member(array)
         << ";";
  };
  auto writeReads = [&](bool isStaged) -> LogicalResult {
    Emitter emitter = function();
    bindRow(emitter, split);
    bind(emitter, hole.getArgument(2), "k");
    for (auto [i, array] : llvm::enumerate(isStaged ? staged : kept)) {
      emitter.setText(array, "");
      emitter.reads[array] =
          isStaged && !isDirect
              ? "gemm_stage<" + std::to_string(stream.arrays[array]) +
                    ">(at + " + std::to_string(128 * i) + ", "
              : stream.where(array) + ".load(";
    }
    DenseSet<Operation *> reads = stream.readsOf(isStaged);
    for (Operation &inner : hole.without_terminator())
      if (reads.contains(&inner) && failed(emitter.emitOp(&inner)))
        return failure();
    return success();
  };
  std::optional<HolePairs> pairs =
      HolePairs::find(stream, hole, op.getElementType());
  bool isFixed =
      llvm::all_of(kept, [&](Value array) { return stream.isFixed(array); });
  // What was read for k inside the extent must not act past it.
  bool isWhole = constantOf(op.getK()).value_or(1) % config.tileK == 0;
  std::string row = std::string("(const Row") + side + " &row, i32 k";
  os << "  static constexpr i32 kVector" << side << " = " << vector
     << ";\n  static constexpr i32 kStaged" << side << " = " << staged.size()
     << ";\n  static constexpr i32 kApart" << side << " = "
     << (pairs ? pairs->apart() : 0) << ";\n  static constexpr bool kFixed"
     << side << " = " << (isFixed ? "true" : "false") << ";\n";
  writeMembers("Groups", staged);
  if (isDirect) {
    os << " };\n  FUSEC_METHOD Groups" << side << " load" << side << row
       << ") const {\n    Groups" << side << " groups;\n";
    if (failed(writeReads(/*isStaged=*/true)))
      return failure();
    os << "    return groups;\n  }\n";
  } else {
    os << "\n    template <class Ring> FUSEC_METHOD void take(Ring ring, i32 "
          "at) {";
    for (auto [i, array] : llvm::enumerate(staged))
      os << " " << stream.member(array) << ".take(ring, at + " << 128 * i
         << ");";
    os << " }\n  };\n  FUSEC_METHOD void stage" << side << row
       << ", i32 at) const {\n";
    if (failed(writeReads(/*isStaged=*/true)))
      return failure();
    os << "  }\n";
  }
  writeMembers("Raw", kept);
  os << " };\n  FUSEC_METHOD Raw" << side << " fetch" << side << row
     << ") const {\n    Raw" << side << " raw;\n";
  if (failed(writeReads(/*isStaged=*/false)))
    return failure();
  os << "    return raw;\n  }\n  template <i32 V> FUSEC_METHOD void convert"
     << side << row << ", const Raw" << side << " &raw, const Groups" << side
     << " &groups, " << (pairs ? "u32" : "f32") << " (&out)[V]) const {\n";
  return writeConversion(hole, split, stream, pairs, isFixed && !isWhole);
}

LogicalResult HoleWriter::writeConversion(Block &hole, const HoleSplit &split,
                                          const HoleStream &stream,
                                          const std::optional<HolePairs> &pairs,
                                          bool isMasked) {
  Emitter emitter = function();
  bindRow(emitter, split);
  bind(emitter, hole.getArgument(2), "k");
  emitter.shorten = [&](Operation *inner) -> std::optional<std::string> {
    if (!pairs || inner->getNumResults() != 1)
      return stream.shorten(emitter, inner);
    Value result = inner->getResult(0);
    if (result == pairs->array())
      emitter.setText(result, "out");
    else if (result == pairs->value())
      emitter.setText(result, pairs->text(emitter, stream));
    else if (!pairs->replaces(inner))
      return stream.shorten(emitter, inner);
    return "";
  };
  for (auto [array, run] : stream.arrays) {
    auto type = cast<MemRefType>(array.getType());
    std::string name = emitter.name(array, "a");
    emitter.line() << kernel.typeName(type.getElementType()) << " " << name
                   << "[" << type.getNumElements() << "];\n";
    emitter.line() << stream.where(array) << ".unpack(" << name << ");\n";
  }
  for (Operation &inner : hole.without_terminator()) {
    bool isArray = inner.getNumResults() == 1 &&
                   stream.arrays.contains(inner.getResult(0));
    if (!split.late.contains(&inner) || isArray)
      continue;
    auto load = dyn_cast<simt::LoadOp>(inner);
    if (isMasked && load && load.getMask() && load.getOther() &&
        !stream.isStaged(load.getRegisters()))
      emitter.line() << "if (!" << emitter.use(load.getMask()) << ")\n"
                     << "      gemmFill(" << emitter.use(load.getRegisters())
                     << ", " << emitter.use(load.getOther()) << ");\n";
    else if (!stream.isRead(&inner) && failed(emitter.emitOp(&inner)))
      return failure();
  }
  if (pairs)
    os << "  }\n";
  else
    writeYield(emitter, hole);
  return success();
}

/// Every operand of the Warpgroup loop has a box, used or not.
void HoleWriter::writeBox(char side, const std::optional<GemmMatrix> &matrix,
                          bool isOuter) {
  GemmMatrix box = matrix.value_or(GemmMatrix());
  auto text = [](bool value) { return value ? "true" : "false"; };
  os << "  using Box" << side << " = GemmBox<GemmOrder::"
     << (isOuter ? "OuterContiguous" : "KContiguous") << ", " << box.split
     << ", " << text(box.hasLow()) << ", " << text(box.hasHigh());
  if (int64_t rows = side == 'A' ? shortRows(op) : 0)
    os << ", " << rows;
  if (std::optional<int64_t> blocks = rowBlocks(op); blocks && side == 'B')
    os << ", 0, " << *blocks;
  os << ">;\n";
}

LogicalResult HoleWriter::writeOperand(char side, Region &hole, Value base,
                                       int64_t vector, bool isOuter) {
  const std::optional<GemmMatrix> &boxes = side == 'A' ? lhsBoxes : rhsBoxes;
  if (config.loop == GemmLoop::Warpgroup)
    writeBox(side, boxes, isOuter);
  os << "  static constexpr GemmAccess kAccess" << side << " = GemmAccess::"
     << (boxes  ? "Tensor"
         : base ? "Async"
                : "Computed")
     << ";\n"
     << "  static constexpr GemmOrder kOrder" << side
     << " = GemmOrder::" << (isOuter ? "OuterContiguous" : "KContiguous")
     << ";\n";
  if (boxes)
    return success();
  HoleSplit split(hole.front());
  if (failed(writePrepare(side, hole.front(), split)))
    return failure();
  if (side == 'B' && config.span)
    return writeStream(side, hole.front(), split, vector);
  return base ? writeSource(side, hole.front(), split, base)
              : writeValues(side, hole.front(), split, vector);
}

LogicalResult HoleWriter::writeEpilogue(Block &hole) {
  SmallVector<StatisticHoles, 2> axes = statisticHolesOf(op);
  bool hasColumns = !axes.empty() && axes.back().areColumns;
  bool isPair = bool(op.getPairBase());
  DenseSet<Operation *> reads;
  bool masks = config.loop == GemmLoop::Warpgroup &&
               canMask(hole, hasColumns ? &reads : nullptr);
  int64_t columns =
      cast<MemRefType>(hole.getArgument(3).getType()).getNumElements();
  if (config.loop == GemmLoop::Warpgroup)
    os << "  static constexpr i32 kColumns = " << columns << ";\n"
       << "  static constexpr i32 kReadBytes = " << bytesRead(hole, columns)
       << ";\n"
       << "  static constexpr bool kMasks = " << (masks ? "true" : "false")
       << ";\n";
  simt::StoreOp turned = masks ? turnedStore(hole) : simt::StoreOp();
  if (turned)
    os << "  using Result = "
       << kernel.typeName(
              cast<MemRefType>(turned.getBuffer().getType()).getElementType())
       << ";\n"
       << "  template <class Sink>\n";
  os << "  FUSEC_METHOD " << statisticResult(axes)
     << " epilogue(i32 b, i32 m, i32 n, const "
     << (isInteger(config.kind) ? "i32"
         : isPair               ? "GemmTwo<f32>"
                                : "f32")
     << " (&" << (isPair ? "sums" : "acc") << ")[" << columns << "], i32 valid"
     << statisticParameter(axes, columns) << (turned ? ", Sink &sink" : "")
     << ") const {\n";
  if (isPair)
    os << "    f32 acc[" << columns << "], second[" << columns
       << "];\n    FUSEC_UNROLL\n    for (i32 i = 0; i < " << columns
       << "; ++i) {\n      acc[i] = sums[i].first;\n"
          "      second[i] = sums[i].second;\n    }\n";
  Emitter emitter = function();
  static const char *const kNames[] = {"b", "m", "n"};
  for (unsigned i = 0; i < 3; ++i)
    bind(emitter, hole.getArgument(i), kNames[i]);
  emitter.setText(hole.getArgument(3), "acc");
  if (isPair)
    emitter.setText(hole.getArgument(4), "second");
  emitter.pairsRoundings = true;
  if (masks) {
    emitter.storeCondition = "valid > 0";
    emitter.storeSink = turned ? "sink" : "";
    emitter.conditionalLoads = std::move(reads);
  }
  if (failed(emitter.emitBlock(hole)))
    return failure();
  writeStatistics(emitter, axes, columns);
  os << "  }\n";
  return success();
}

/// A function that asks for what the epilogue reads at 32 columns of a row, so
/// that it is in L2 when the products are done. Vectors along rows or columns
/// are few bytes that others have read before.
LogicalResult HoleWriter::writePrefetch(Block &hole) {
  std::string text;
  llvm::raw_string_ostream body(text);
  Emitter emitter(body, kernel.indexType == "i64");
  emitter.indent = 2;
  for (auto [value, name] : members)
    emitter.setText(value, name);
  static const char *const kNames[] = {"b", "m", "n"};
  for (unsigned i = 0; i < 3; ++i)
    bind(emitter, hole.getArgument(i), kNames[i]);
  DenseSet<Operation *> written;
  bool hasAny = false;
  for (auto loop : hole.getOps<scf::ForOp>())
    for (auto load : loop.getBody()->getOps<simt::LoadOp>()) {
      Address address(hole);
      if (load.getVector() == 1 || !address.add(load.getOffset()) ||
          !address.dependsOn(1) || !address.dependsOn(2) ||
          (load.getMask() && !address.add(load.getMask())))
        continue;
      for (Value variable : address.getLoopVariables())
        emitter.setText(variable, "0");
      for (Operation *op : address.getOps())
        if (written.insert(op).second && failed(emitter.emitOp(op)))
          return failure();
      emitter.line() << (load.getMask()
                             ? "if (" + emitter.use(load.getMask()) + ") "
                             : "")
                     << "prefetch_l2<32>(" << emitter.use(load.getBuffer())
                     << ", " << emitter.use(load.getOffset()) << ");\n";
      hasAny = true;
    }
  os << "  static constexpr bool kPrefetches = " << (hasAny ? "true" : "false")
     << ";\n";
  if (hasAny)
    os << "  FUSEC_METHOD void prefetch(i32 b, i32 m, i32 n) const {\n"
       << body.str() << "  }\n";
  return success();
}

LogicalResult HoleWriter::writeAxes() {
  for (const StatisticHoles &axis : statisticHolesOf(op))
    if (failed(writeStatisticHoles(
            axis, os, [&] { return function(); },
            [&](Emitter &emitter, Value value, const char *name) {
              bind(emitter, value, name);
            })))
      return failure();
  return success();
}

std::string HoleWriter::mapsOfB() {
  if (!rhsBoxes)
    return "GemmNoMap{}";
  if (op.getPairBase())
    return std::string("GemmTwoMaps{") + kMapNames[1] + ", " + kMapNames[2] +
           "}";
  return kMapNames[1];
}

LogicalResult HoleWriter::write() {
  collectMembers();
  std::string holes = std::string(1, Emitter::kEntryMark) + "_holes";
  std::string type = std::string(1, Emitter::kEntryMark) + "_config";
  os << "struct " << holes << " {\n";
  for (auto [value, name] : members)
    os << "  "
       << (isa<MemRefType>(value.getType())
               ? pointerType(value)
               : kernel.typeName(value.getType()) + " ")
       << name << ";\n";
  if (results)
    os << "  FUSEC_TENSOR_MAP_REF(results);\n"
       << "  using BoxC = GemmBox<GemmOrder::KContiguous, 1, false, "
       << (results->hasHigh() ? "true" : "false") << ">;\n";
  if (failed(writeOperand('A', op.getLhs(), op.getLhsBase(), op.getLhsVector(),
                          op.getLhsOuter())) ||
      failed(writeOperand('B', op.getRhs(), op.getRhsBase(), op.getRhsVector(),
                          op.getRhsOuter())) ||
      failed(writeAxes()) || failed(writeEpilogue(op.getEpilogue().front())) ||
      (config.loop == GemmLoop::Warpgroup &&
       failed(writePrefetch(op.getEpilogue().front()))))
    return failure();
  os << "};\nusing " << type << " = " << config.deviceType() << ";\n";

  kernel.line() << "const " << holes << " holes{";
  for (auto [i, member] : llvm::enumerate(members))
    kernel.os << (i ? ", " : "") << kernel.use(member.first);
  if (results)
    kernel.os << (members.empty() ? "" : ", ") << kMapNames[3];
  kernel.os << "};\n";
  kernel.line() << config.deviceFunction() << "<" << type << ">(holes";
  if (config.loop == GemmLoop::Warpgroup)
    kernel.os << ", " << (lhsBoxes ? kMapNames[0] : "GemmNoMap{}") << ", "
              << mapsOfB();
  for (Value extent : {op.getM(), op.getN(), op.getK(), op.getBatch()})
    kernel.os << ", (i32)" << kernel.use(extent);
  kernel.os << ");\n";
  return success();
}

LogicalResult Emitter::emitContract(simt::ContractOp op) {
  return HoleWriter(*this, op).write();
}
