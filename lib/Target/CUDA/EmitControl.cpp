//===- EmitControl.cpp - loops, branches and memory as CUDA C++ -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Emitter.h"
#include "LoopTest.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "fusec/Target/CUDA/GemmConfig.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

// Loops over registers must be unrolled, so that register arrays are indexed by
// constants. Other loops (window rows, channels) are unrolled while their text
// stays small: the compiler then shares what iterations have in common.
static constexpr int64_t kMaxRegisterTrip = 128;
static constexpr uint64_t kMaxUnrolledOps = 16384;
// What streams memory gains nothing from copies of its body.
static constexpr uint64_t kMaxStreamedOps = 4096;
// Long bodies fill the instruction cache; they are never repeated.
static constexpr uint64_t kMaxRepeatedOps = 500;

// An element of a vector that is read or written: its address, and the words
// that it is packed in.
static constexpr uint64_t kElementOps = 7;

static std::optional<int64_t> constantTrip(scf::ForOp loop) {
  llvm::APInt lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return std::nullopt;
  int64_t span = upper.getSExtValue() - lower.getSExtValue();
  return span <= 0 ? 0 : llvm::divideCeil(span, step.getSExtValue());
}

/// Ops that an access to memory takes beside its own, by elements.
static uint64_t accessOps(Operation &op) {
  int64_t vector = 1;
  if (auto load = dyn_cast<simt::LoadOp>(op))
    vector = int64_t(load.getVector());
  else if (auto store = dyn_cast<simt::StoreOp>(op))
    vector = int64_t(store.getVector());
  return uint64_t(vector - 1) * kElementOps;
}

/// Ops that the block becomes when all loops in it are unrolled.
static uint64_t unrolledOps(Block &block) {
  uint64_t count = 0;
  for (Operation &op : block) {
    uint64_t inner = 1 + accessOps(op);
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        inner += unrolledOps(nested);
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<int64_t> trip = loop ? constantTrip(loop) : std::nullopt;
    count = llvm::SaturatingAdd<uint64_t>(
        count, llvm::SaturatingMultiply<uint64_t>(
                   inner, std::max<int64_t>(1, trip.value_or(1))));
  }
  return count;
}

/// The position in a register array that `op` accesses; null for other ops.
static Value registerIndex(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return tile::isShared(load.getMemRef()) ? Value() : load.getIndices()[0];
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return tile::isShared(store.getMemRef()) ? Value() : store.getIndices()[0];
  if (auto load = dyn_cast<simt::LoadOp>(op))
    return load.getReg();
  if (auto store = dyn_cast<simt::StoreOp>(op))
    return store.getReg();
  return {};
}

/// True if the loop variable says which register of an array is meant.
static bool isOverRegisters(scf::ForOp loop) {
  llvm::SmallDenseSet<Value> derived = {loop.getInductionVar()};
  return loop
      .walk<WalkOrder::PreOrder>([&](Operation *op) {
        Value reg = registerIndex(op);
        if (reg && derived.contains(reg))
          return WalkResult::interrupt();
        if (llvm::any_of(op->getOperands(), [&](Value operand) {
              return derived.contains(operand);
            }))
          derived.insert_range(op->getResults());
        return WalkResult::advance();
      })
      .wasInterrupted();
}

enum class Unroll { None, Compiler, Full };

static Unroll chooseUnroll(scf::ForOp loop) {
  std::optional<int64_t> trip = constantTrip(loop);
  uint64_t ops = unrolledOps(*loop.getBody());
  if (trip && *trip <= kMaxRegisterTrip && isOverRegisters(loop))
    return Unroll::Full;
  if (ops > kMaxRepeatedOps)
    return Unroll::None;
  bool isStreaming =
      loop.walk([](simt::LoadOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  uint64_t all = llvm::SaturatingMultiply<uint64_t>(trip.value_or(1), ops);
  if (trip && all <= (isStreaming ? kMaxStreamedOps : kMaxUnrolledOps))
    return Unroll::Full;
  // An inner loop reads as many elements at once as its kernel has registers
  // for.
  bool isInner = loop->getParentOfType<scf::ForOp>() != nullptr;
  return isStreaming && (trip || isInner) ? Unroll::None : Unroll::Compiler;
}

/// Declares a variable per carried value, set to `inits`.
static LogicalResult declare(Emitter &emitter, Operation *op,
                             ValueRange results, ValueRange inits,
                             ValueRange inner) {
  for (auto [i, result] : llvm::enumerate(results)) {
    std::string type = emitter.typeName(result.getType());
    if (type.empty())
      return op->emitOpError("carries a type without a CUDA name");
    std::string init = inits.empty() ? "" : " = " + emitter.use(inits[i]);
    std::string variable = emitter.name(result, "c");
    if (!inner.empty())
      emitter.setText(inner[i], variable);
    emitter.line() << type << " " << variable << init << ";\n";
  }
  return success();
}

/// Assigns all at once: the values may name the variables.
static void assign(Emitter &emitter, ValueRange variables, ValueRange values) {
  SmallVector<std::string> from;
  for (Value value : values)
    from.push_back(emitter.use(value));
  if (values.size() == 1) {
    emitter.line() << emitter.use(variables[0]) << " = " << from[0] << ";\n";
    return;
  }
  for (auto [i, value] : llvm::enumerate(values))
    emitter.line() << "const " << emitter.typeName(value.getType()) << " t" << i
                   << "_ = " << from[i] << ";\n";
  for (size_t i = 0; i < values.size(); ++i)
    emitter.line() << emitter.use(variables[i]) << " = t" << i << "_;\n";
}

/// Whether `loop` goes over a register array, two elements at a time, and
/// rounds something by an instruction for pairs.
static bool isPaired(Emitter &emitter, scf::ForOp loop) {
  std::optional<int64_t> trip = constantTrip(loop);
  if (!emitter.pairsRoundings || !trip || *trip % 2 || *trip > 8 ||
      loop.getNumResults() || !matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()) ||
      llvm::any_of(*loop.getBody(),
                   [](Operation &op) { return op.getNumRegions() != 0; }))
    return false;
  return llvm::any_of(*loop.getBody(), [&](Operation &op) {
    return emitter.pairedRounding(&op).operand != nullptr;
  });
}

LogicalResult Emitter::emitPair(Block &block, Value variable,
                                const std::string &first,
                                const std::string &second) {
  llvm::DenseMap<Value, std::string> others = texts;
  texts[variable] = first;
  others[variable] = second;
  for (Operation &op : block.without_terminator()) {
    PairedRounding rounding = pairedRounding(&op);
    if (!rounding.operand) {
      for (int i = 0; i < 2; ++i) {
        if (failed(emitOp(&op)))
          return failure();
        std::swap(texts, others);
      }
      continue;
    }
    Value result = op.getResult(0);
    std::string from[2], to[2], after = rounding.before.empty() ? "" : ")";
    for (int i = 0; i < 2; ++i) {
      from[i] = rounding.before + use(rounding.operand) + after;
      to[i] = name(result);
      std::swap(texts, others);
    }
    line() << typeName(result.getType()) << " " << to[0] << ", " << to[1]
           << ";\n";
    line() << rounding.function << "(" << to[0] << ", " << to[1] << ", "
           << from[0] << ", " << from[1] << ");\n";
  }
  return success();
}

static LogicalResult emitLoop(Emitter &emitter, scf::ForOp loop) {
  if (failed(declare(emitter, loop, loop.getResults(), loop.getInitArgs(),
                     loop.getRegionIterArgs())))
    return failure();
  Unroll unroll = chooseUnroll(loop);
  bool pairs = isPaired(emitter, loop) && unroll == Unroll::Full;
  std::string lower = emitter.use(loop.getLowerBound());
  std::string upper = emitter.use(loop.getUpperBound());
  std::string step = pairs ? "2" : emitter.use(loop.getStep());
  std::string type = emitter.typeName(loop.getInductionVar().getType());
  std::string i = emitter.name(loop.getInductionVar(), "r");
  if (unroll == Unroll::Full)
    emitter.line() << "FUSEC_UNROLL\n";
  else if (unroll == Unroll::None)
    emitter.line() << "FUSEC_NO_UNROLL\n";
  emitter.line() << "for (" << type << " " << i << " = " << lower << "; " << i
                 << " < " << upper << "; " << i << " += " << step << ") {\n";
  ++emitter.indent;
  if (failed(pairs ? emitter.emitPair(*loop.getBody(), loop.getInductionVar(),
                                      i, "(" + i + " + 1)")
                   : emitter.emitBlock(*loop.getBody())))
    return failure();
  assign(emitter, loop.getResults(),
         loop.getBody()->getTerminator()->getOperands());
  --emitter.indent;
  emitter.line() << "}\n";
  return success();
}

/// `loop` where the mask of `test` holds, and what it reads elsewhere.
static LogicalResult emitTested(Emitter &emitter, scf::ForOp loop,
                                const LoopTest &test) {
  emitter.line() << "if (" << emitter.use(test.mask) << ") {\n";
  ++emitter.indent;
  emitter.tested = test.access;
  if (failed(emitLoop(emitter, loop)))
    return failure();
  emitter.tested = nullptr;
  if (auto load = dyn_cast<simt::LoadOp>(test.access)) {
    --emitter.indent;
    emitter.line() << "} else {\n";
    ++emitter.indent;
    std::string i = emitter.use(loop.getInductionVar());
    std::string type = emitter.typeName(loop.getInductionVar().getType());
    emitter.line() << "FUSEC_UNROLL\n";
    emitter.line() << "for (" << type << " " << i << " = 0; " << i << " < "
                   << emitter.use(loop.getUpperBound()) << "; ++" << i << ")\n";
    emitter.line() << "  " << emitter.use(load.getRegisters()) << "[" << i
                   << "] = " << emitter.use(test.other) << ";\n";
  }
  --emitter.indent;
  emitter.line() << "}\n";
  return success();
}

static LogicalResult emitFor(Emitter &emitter, scf::ForOp loop) {
  int64_t trip = constantTrip(loop).value_or(0);
  if (LoopTest test = emitter.testsOnce ? findLoopTest(loop, trip) : LoopTest())
    return emitTested(emitter, loop, test);
  return emitLoop(emitter, loop);
}

static LogicalResult emitIf(Emitter &emitter, scf::IfOp op) {
  if (failed(declare(emitter, op, op.getResults(), {}, {})))
    return failure();
  auto branch = [&](Block &block) -> LogicalResult {
    ++emitter.indent;
    if (failed(emitter.emitBlock(block)))
      return failure();
    if (op.getNumResults())
      assign(emitter, op.getResults(), block.getTerminator()->getOperands());
    --emitter.indent;
    return success();
  };
  emitter.line() << "if (" << emitter.use(op.getCondition()) << ") {\n";
  if (failed(branch(*op.thenBlock())))
    return failure();
  if (!op.getElseRegion().empty()) {
    emitter.line() << "} else {\n";
    if (failed(branch(*op.elseBlock())))
      return failure();
  }
  emitter.line() << "}\n";
  return success();
}

LogicalResult Emitter::emitControl(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(*this, loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitIf(*this, branch);
  return op->emitOpError("has no CUDA text");
}

//===----------------------------------------------------------------------===//
// Memory and thread ops
//===----------------------------------------------------------------------===//

/// The second of a pair and, with it, the first: ld_pair or st_pair.
template <class Access>
static void emitAccessPair(Emitter &e, Access second,
                           const AccessPairs::First &pair) {
  auto first = cast<Access>(pair.op);
  std::string numbers = "<" + std::to_string(second.getVector()) + ", " +
                        std::to_string(pair.distance) + ">";
  std::string registers =
      e.use(first.getRegisters()) + ", " + e.use(first.getReg()) + ", " +
      e.use(second.getRegisters()) + ", " + e.use(second.getReg());
  std::string place =
      e.use(first.getBuffer()) + ", " + e.use(first.getOffset());
  if (std::is_same_v<Access, simt::LoadOp>)
    e.line() << "ld_pair" << numbers << "(" << registers << ", " << place
             << ");\n";
  else
    e.line() << (second.getMask() ? "stm_pair" : "st_pair") << numbers << "("
             << place << ", " << registers
             << (second.getMask() ? ", " + e.use(second.getMask()) : "")
             << ");\n";
}
/// Whether `access` is part of a pair, which is written with its second.
template <class Access>
static bool emitInPair(Emitter &e, Access access) {
  auto pair = e.pairs.firstOf.find(access);
  if (pair != e.pairs.firstOf.end())
    emitAccessPair(e, access, pair->second);
  return pair != e.pairs.firstOf.end() || e.pairs.isLater.contains(access);
}

static LogicalResult emitLoad(Emitter &e, simt::LoadOp load) {
  if (emitInPair(e, load))
    return success();
  std::string regs = e.use(load.getRegisters()), reg = e.use(load.getReg());
  std::string buffer = e.use(load.getBuffer()), off = e.use(load.getOffset());
  std::string vector = "<" + std::to_string(load.getVector()) + ">";
  bool shared = tile::isShared(load.getBuffer());
  auto read = e.reads.find(load.getRegisters());
  if (read != e.reads.end()) {
    e.line() << read->second << reg << ", " << buffer << ", " << off << ", "
             << (load.getMask() ? e.use(load.getMask()) : "true") << ");\n";
    return success();
  }
  if (e.conditionalLoads.contains(load)) {
    e.line() << "ldm" << vector << "(" << regs << ", " << reg << ", " << buffer
             << ", " << off << ", "
             << (load.getMask() ? e.use(load.getMask()) + " && " : "")
             << e.storeCondition << ", "
             << (load.getMask() ? e.use(load.getOther()) : "{}") << ");\n";
    return success();
  }
  if (!load.getMask() || e.tested == load) {
    e.line() << (shared ? "lds" : "ld") << vector << "(" << regs << ", " << reg
             << ", " << buffer << ", " << off << ");\n";
    return success();
  }
  std::string mask = e.use(load.getMask()), other = e.use(load.getOther());
  if (!shared) {
    e.line() << "ldm" << vector << "(" << regs << ", " << reg << ", " << buffer
             << ", " << off << ", " << mask << ", " << other << ");\n";
    return success();
  }
  if (load.getVector() == 1)
    e.line() << regs << "[" << reg << "] = " << mask << " ? lds(" << buffer
             << ", " << off << ") : " << other << ";\n";
  else
    e.line() << "if (" << mask << ") lds" << vector << "(" << regs << ", "
             << reg << ", " << buffer << ", " << off << "); else " << regs
             << "[" << reg << "] = " << other << ";\n";
  return success();
}

static LogicalResult emitStore(Emitter &e, simt::StoreOp store) {
  if (emitInPair(e, store))
    return success();
  std::string regs = e.use(store.getRegisters()), reg = e.use(store.getReg());
  std::string buffer = e.use(store.getBuffer()), off = e.use(store.getOffset());
  std::string vector = "<" + std::to_string(store.getVector()) + ">";
  std::string args = "(" + buffer + ", " + off + ", " + regs + ", " + reg;
  if (tile::isShared(store.getBuffer())) {
    e.line();
    if (store.getMask() && e.tested != store)
      e.os << "if (" << e.use(store.getMask()) << ") ";
    e.os << "sts" << vector << "(" << buffer << ", " << off << ", " << regs
         << ", " << reg << ");\n";
    return success();
  }
  std::string mask =
      store.getMask() && e.tested != store ? e.use(store.getMask()) : "";
  if (!e.storeCondition.empty()) {
    e.line() << (e.storeSink.empty() ? "st_if" : e.storeSink + ".template put")
             << vector << args << ", " << (mask.empty() ? "" : mask + " && ")
             << e.storeCondition << ");\n";
    return success();
  }
  e.line() << (mask.empty() ? "st" : "stm") << vector << args
           << (mask.empty() ? "" : ", " + mask) << ");\n";
  return success();
}

void Emitter::beginMeetings(ArrayRef<int64_t> bytes) {
  line() << "FUSEC_MBARRIERS(meetings, " << bytes.size() << ");\n";
  line() << "if (lane() == 0 && warp() == 0) {\n";
  for (size_t i = 0; i < bytes.size(); ++i)
    line() << "  mbar_init(meetings, " << i << ", 1);\n";
  line() << "  mbar_init_fence();\n";
  for (auto [i, count] : llvm::enumerate(bytes))
    line() << "  mbar_arrive_expect(meetings, " << i << ", " << count << ");\n";
  line() << "}\n";
}

void Emitter::emitShared(simt::SharedOp shared) {
  auto type = cast<MemRefType>(shared.getType());
  std::string element = typeName(type.getElementType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (shared.getDynamic()) {
    line() << "FUSEC_SHARED_DYN_AT(" << element << ", " << name(shared, "s")
           << ", " << dynamicBytes << ");\n";
    dynamicBytes += llvm::alignTo(type.getNumElements() * bytes, kArenaAlign);
    return;
  }
  if (arena.empty()) {
    line() << "FUSEC_SHARED(" << element << ", " << name(shared, "s") << ", "
           << type.getNumElements() << ");\n";
    return;
  }
  line() << "FUSEC_SHARED_PTR(" << element << ") " << name(shared, "s")
         << " = shared_as<" << element << ", " << arenaBytes << ", "
         << type.getNumElements() << ">(" << arena << ");\n";
  arenaBytes += llvm::alignTo(type.getNumElements() * bytes, kArenaAlign);
}

void Emitter::emitGridWait(simt::GridWaitOp op) {
  // The skeleton on warpgroups waits itself, behind setting up its barriers.
  auto contract = dyn_cast_or_null<simt::ContractOp>(op->getNextNode());
  if (waited ||
      (contract && GemmConfig::fromNumbers(contract.getConfig()).loop ==
                       GemmLoop::Warpgroup))
    return;
  line() << "grid_wait();\n";
}

LogicalResult Emitter::emitMemory(Operation *op) {
  auto element = [&](Value memory) {
    return typeName(cast<MemRefType>(memory.getType()).getElementType());
  };
  auto count = [&](Value memory) {
    return std::to_string(cast<MemRefType>(memory.getType()).getNumElements());
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<memref::AllocaOp>([&](auto alloca) {
        line() << element(alloca) << " " << name(alloca, "a") << "["
               << count(alloca) << "];\n";
        return success();
      })
      .Case<memref::LoadOp>([&](memref::LoadOp load) {
        std::string memory = use(load.getMemRef()),
                    i = use(load.getIndices()[0]);
        if (tile::isShared(load.getMemRef()))
          return define(op, "lds(" + memory + ", " + i + ")");
        return define(op, memory + "[" + i + "]");
      })
      .Case<memref::StoreOp>([&](memref::StoreOp store) {
        std::string memory = use(store.getMemRef()),
                    i = use(store.getIndices()[0]);
        std::string value = use(store.getValue());
        if (tile::isShared(store.getMemRef()))
          line() << "sts(" << memory << ", " << i << ", " << value << ");\n";
        else
          line() << memory << "[" << i << "] = " << value << ";\n";
        return success();
      })
      .Case<simt::SharedOp>([&](simt::SharedOp shared) {
        emitShared(shared);
        return success();
      })
      .Case<simt::LaneOp>(
          [&](auto) { return define(op, "(" + indexType + ")lane()"); })
      .Case<simt::WarpOp>(
          [&](auto) { return define(op, "(" + indexType + ")warp()"); })
      .Case<simt::ClusterRankOp>(
          [&](auto) { return define(op, "(" + indexType + ")cluster_rank()"); })
      .Case<simt::ClusterStoreOp>([&](simt::ClusterStoreOp store) {
        std::optional<uint64_t> meeting = store.getMeeting();
        line() << (meeting ? "st_async(" : "sts_cluster(")
               << use(store.getBuffer()) << ", " << use(store.getIndex())
               << ", " << use(store.getValue()) << ", " << use(store.getRank());
        if (meeting)
          os << ", meetings, " << *meeting;
        os << ");\n";
        return success();
      })
      .Case<simt::ClusterArriveOp>([&](simt::ClusterArriveOp arrive) {
        if (!arrive.getMeetings().empty())
          beginMeetings(arrive.getMeetings());
        line() << "cluster_arrive_relaxed();\n";
        return success();
      })
      .Case<simt::ClusterMeetOp>([&](simt::ClusterMeetOp meet) {
        line() << "mbar_wait(meetings, " << meet.getMeeting() << ", 0);\n";
        return success();
      })
      .Case<simt::ClusterWaitOp>([&](auto) {
        line() << "cluster_wait();\n";
        return success();
      })
      .Case<simt::ClusterBarrierOp>([&](auto) {
        line() << "cluster_sync();\n";
        return success();
      })
      .Case<simt::BlockIdOp>([&](simt::BlockIdOp id) {
        return define(op, "(" + indexType + ")" + blockIds[id.getDimension()]);
      })
      .Case<simt::ShuffleXorOp>([&](simt::ShuffleXorOp shuffle) {
        return define(op, "shfl_xor(" + use(shuffle.getValue()) + ", " +
                              std::to_string(shuffle.getMask()) + ")");
      })
      .Case<simt::OnePlusErfOp>([&](simt::OnePlusErfOp sum) {
        return define(op, "m_one_plus_erf(" + use(sum.getOperand()) + ", " +
                              use(sum.getPower()) + ")");
      })
      .Case<simt::AnyOp>([&](simt::AnyOp any) {
        return define(op, "any(" + use(any.getCondition()) + ")");
      })
      .Case<simt::DealOp>([&](simt::DealOp deal) {
        usesSelect = true;
        line() << "deal_list<" << deal.getLow() << ", " << deal.getHigh()
               << ">(" << use(deal.getList()) << ", " << use(deal.getDealt())
               << ");\n";
        return success();
      })
      .Case<simt::CollectOp>([&](simt::CollectOp collect) {
        usesSelect = true;
        line() << "collect_list<" << collect.getLow() << ", "
               << collect.getHigh() << ">(" << use(collect.getDealt()) << ", "
               << use(collect.getList()) << ");\n";
        return success();
      })
      .Case<simt::SelectOp>([&](simt::SelectOp select) {
        usesSelect = true;
        line() << "select_greatest<" << select.getCount() << ", "
               << select.getLow() << ", " << select.getHigh() << ">("
               << use(select.getElements()) << ", " << use(select.getDealt())
               << ", " << use(select.getLast()) << ");\n";
        return success();
      })
      .Case<simt::ShuffleFirstOp>([&](simt::ShuffleFirstOp shuffle) {
        return define(op, "shfl_idx(" + use(shuffle.getValue()) + ", 0)");
      })
      .Case<simt::ShuffleShiftOp>([&](simt::ShuffleShiftOp shuffle) {
        int64_t by = shuffle.getBy();
        return define(op, (by < 0 ? "shfl_up(" : "shfl_down(") +
                              use(shuffle.getValue()) + ", " +
                              std::to_string(std::abs(by)) + ")");
      })
      .Case<simt::TicketOp>([&](simt::TicketOp ticket) {
        return define(op, "(i32)ticket(" + use(ticket.getCounters()) + ", " +
                              use(ticket.getIndex()) + ", " +
                              std::to_string(ticket.getCount()) + "u)");
      })
      .Case<simt::GridSizeOp>(
          [&](auto) { return define(op, "(" + indexType + ")ncta_x()"); })
      .Case<simt::GridBarrierOp>([&](simt::GridBarrierOp barrier) {
        line() << "grid_sync(" << use(barrier.getCounters()) << ", 0);\n";
        return success();
      })
      .Case<simt::GridWaitOp>([&](simt::GridWaitOp wait) {
        emitGridWait(wait);
        return success();
      })
      .Case<simt::CopyOp>([&](simt::CopyOp copy) {
        Type type = copy.getSource().getType().getElementType();
        int64_t bytes = llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
        line() << "cp_async" << copy.getVector() * bytes << "("
               << use(copy.getTarget()) << ", (i32)" << use(copy.getPlace())
               << ", " << use(copy.getSource()) << ", " << use(copy.getOffset())
               << ", " << (copy.getMask() ? use(copy.getMask()) : "true")
               << ");\n";
        return success();
      })
      .Case<simt::CopyCommitOp>([&](auto) {
        line() << "cp_async_commit();\n";
        return success();
      })
      .Case<simt::CopyWaitOp>([&](simt::CopyWaitOp wait) {
        line() << "cp_async_wait<" << wait.getPending() << ">();\n";
        return success();
      })
      .Case<simt::BarrierOp>([&](auto) {
        line() << "bar();\n";
        return success();
      })
      .Case<simt::LoadOp>(
          [&](simt::LoadOp load) { return emitLoad(*this, load); })
      .Case<simt::StoreOp>(
          [&](simt::StoreOp store) { return emitStore(*this, store); })
      .Case<simt::ContractOp>(
          [&](simt::ContractOp op) { return emitContract(op); })
      .Default([&](auto) { return op->emitOpError("has no CUDA text"); });
}
