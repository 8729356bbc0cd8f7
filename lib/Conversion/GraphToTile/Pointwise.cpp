//===- Pointwise.cpp - one element of the spine a register ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All outputs have the spine's shape, taken as one linear axis. A block covers
// threads * vector * repeats consecutive elements; the last block is masked.
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

// A 16-byte access a thread is the widest there is (sm_80, sm_90).
static constexpr int64_t kAccessBytes = 16;
static constexpr int64_t kThreads = 256;
// A warp for each scheduler of a multiprocessor.
static constexpr int64_t kFewThreads = 128;
// Bytes in flight = bandwidth * latency: 48 KiB a multiprocessor, which are 64
// of each of 768 threads.
static constexpr int64_t kThreadBytes = 64;
static constexpr int64_t kMaxRepeats = 4;

/// Elements of one vector access: a power of two that divides the innermost
/// size, so that no group straddles a row.
static int64_t vectorSize(ArrayRef<int64_t> sizes, int64_t bytes, bool hasLoops,
                          bool isFlat) {
  if (hasLoops)
    return 1; // the op loops over its operands itself
  int64_t vector = std::max<int64_t>(1, kAccessBytes / bytes);
  if (isFlat)
    return vector;
  int64_t inner = sizes.empty() ? 1 : sizes.back();
  while (vector > 1 && inner % vector)
    vector /= 2;
  return vector;
}

/// Whether `operand` is an input of half the spine's elements or more.
static bool isLargeInput(Value operand, int64_t total) {
  auto type = cast<RankedTensorType>(operand.getType());
  return isa<BlockArgument>(operand) && type.hasStaticShape() &&
         type.getNumElements() * 2 >= total;
}

/// True if everything of full size is read and written at the spine's own
/// index: consecutive in memory whatever its sizes.
static bool isFlatStream(const analysis::RegionForm &form, int64_t total) {
  for (Operation *op : form.ops) {
    auto placed = form.placements.find(op);
    for (Value operand : op->getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      if (!isLargeInput(operand, total))
        continue;
      if (type.getNumElements() != total || placed == form.placements.end() ||
          !isa<graph::FusibleOpInterface>(op) ||
          cast<graph::FusibleOpInterface>(op).getFusionRole() !=
              graph::FusionRole::elementwise ||
          !llvm::all_of(placed->second.reads,
                        [](AffineMap map) { return map && map.isIdentity(); }))
        return false;
    }
  }
  return llvm::all_of(form.outputs, [](const analysis::RegionOutput &output) {
    return output.index.isIdentity();
  });
}

/// Bytes that are read from memory for each element of the spine, counting
/// every place at which an input of full size is read.
static int64_t bytesRead(const analysis::RegionForm &form, int64_t total) {
  int64_t result = 0;
  for (Operation *op : form.ops) {
    auto placed = form.placements.find(op);
    for (Value operand : op->getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      if (!isLargeInput(operand, total))
        continue;
      int64_t reads = placed == form.placements.end()
                          ? 1
                          : std::max<size_t>(1, placed->second.reads.size());
      result += reads * llvm::divideCeil(type.getElementTypeBitWidth(), 8u);
    }
  }
  return std::max<int64_t>(1, result);
}

/// Whether the instructions of an element, one after another, take longer than
/// its way from memory and back.
static bool isLongArithmetic(analysis::FactTable &facts,
                             const analysis::RegionForm &form) {
  constexpr int64_t kLong = 256;
  int64_t cost = 0;
  for (Operation *op : form.ops)
    if (const analysis::OpFacts *fact = facts.get(op))
      cost += fact->cost;
  return cost >= kLong;
}

/// Whether something is computed from values that many elements share.
static bool computesShared(analysis::FactTable &facts,
                           const analysis::RegionForm &form, int64_t total) {
  constexpr int64_t kWorth = 4; // instructions; less is not worth two texts
  return llvm::any_of(form.ops, [&](Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    const analysis::OpFacts *fact = facts.get(op);
    return fact && fact->cost >= kWorth && type.hasStaticShape() &&
           type.getNumElements() * 2 < total;
  });
}

FailureOr<tile::KernelOp> graph_to_tile::schedulePointwise(KernelBuilder &kb) {
  const analysis::RegionForm &form = kb.form;
  bool hasLoops = llvm::any_of(form.ops, [](Operation *op) {
    return isa<graph::ReductionOpInterface>(op);
  });
  const int64_t pieces = hasLoops ? 1 : analysis::countPieces(kb.pattern);
  auto sizesOf = [&](const analysis::RegionForm &form) {
    SmallVector<int64_t> sizes(form.parallel);
    if (pieces > 1)
      sizes.back() /= pieces;
    return sizes;
  };
  SmallVector<int64_t> sizes = sizesOf(form), planned = sizesOf(kb.pattern);
  int64_t total = KernelBuilder::product(sizesOf(kb.counted));
  int64_t plannedTotal = KernelBuilder::product(planned);
  analysis::FactTable facts;
  bool isFlat = !kb.options.threads && isFlatStream(kb.pattern, plannedTotal);
  analysis::AccessFacts access = analysis::accessFacts(facts, kb.pattern);
  // No thread stores more than one access to a tensor: two would be half of
  // each sector at a time, which the L2 takes as twice the sectors. Loads meet
  // in the first-level cache.
  int64_t vector =
      vectorSize(planned, std::max(access.elementBytes, access.storedBytes),
                 hasLoops, isFlat);
  const int64_t shared = kb.options.threads;
  int64_t threads = shared ? shared : kThreads;
  // Few elements with much to do: one a thread, over all multiprocessors.
  if (!shared && !hasLoops && isLongArithmetic(facts, kb.pattern)) {
    auto blocks = [&] {
      return llvm::divideCeil(plannedTotal, uint64_t(threads * vector));
    };
    while (vector > 1 && blocks() < kb.options.target.multiprocessors)
      vector /= 2;
    while (threads > kFewThreads &&
           blocks() < kb.options.target.multiprocessors)
      threads /= 2;
  }
  // What the run-time extent counts in: a vector where it divides whatever the
  // size along the outermost axis.
  ArrayRef<int64_t> inner = planned;
  if (inner.size() > 1)
    inner = inner.drop_front();
  int64_t unit = KernelBuilder::product(inner) % vector ? 1 : vector;
  for (const analysis::RegionForm *other : {&form, &kb.counted}) {
    SmallVector<int64_t> its = sizesOf(*other);
    int64_t whole =
        isFlat || its.empty() ? KernelBuilder::product(its) : its.back();
    if (whole % (isFlat ? unit : vector) ||
        (pieces > 1 && analysis::countPieces(*other) != pieces))
      return kb.fusion.emitOpError() << "has rows of " << whole
                                     << ": expected a multiple of " << vector;
  }
  // In a shared launch other parts fill the machine, and texts that differ in
  // nothing but sizes are one.
  int64_t repeats = 1;
  int64_t wanted = int64_t(kb.options.target.multiprocessors) * 8;
  int64_t loaded = bytesRead(kb.pattern, plannedTotal) * vector;
  while (!shared && !hasLoops && repeats < kMaxRepeats &&
         loaded * repeats < kThreadBytes &&
         plannedTotal / (threads * vector * repeats * 2) >= wanted)
    repeats *= 2;

  int64_t block = threads * vector * repeats;
  int64_t warps = threads / 32;
  auto layout = tile::LayoutAttr::get(
      kb.builder.getContext(),
      {Digit{vector, 1, 0}, Digit{repeats, threads * vector, 0}},
      {Digit{32, vector, 0}}, {Digit{warps, 32 * vector, 0}});
  kb.begin(threads, {int64_t(llvm::divideCeil(total, block)), 1, 1},
           {total / unit});
  RankedTensorType carrier = kb.carrierType({block}, layout);
  kb.emitter.setCarrier(carrier);
  Value start = kb.mulIndex(kb.blockId(0), block);
  Value end = kb.mulIndex(kb.extent(0), unit);
  auto emit = [&](bool isMasked) {
    Value linear = kb.axisTile(carrier, 0, start);
    Value mask = isMasked ? kb.below(carrier, linear, end) : Value();
    kb.emitter.setMask(mask);
    SmallVector<Value> spine = kb.split(linear, sizes);
    graph::ElementBuilder eb = kb.emitter.elements();
    if (pieces > 1)
      kb.emitter.setBounds(
          linear,
          {0, int64_t(llvm::divideCeil(
                  std::max(total, KernelBuilder::product(sizes)), block)) *
                      block -
                  1});
    struct Element {
      unsigned output;
      SmallVector<Value> index;
      Value value;
    };
    SmallVector<Element> elements;
    auto storeAll = [&] {
      for (const Element &e : elements)
        kb.emitter.store(
            e.value, kb.outputBuffer(e.output),
            cast<RankedTensorType>(form.outputs[e.output].value.getType()),
            e.index, mask);
      elements.clear();
    };
    for (int64_t piece = 0; piece < pieces; ++piece) {
      SmallVector<Value> at(spine);
      if (piece)
        at.back() = eb.addIndex(at.back(), piece * sizes.back());
      for (auto [i, output] : llvm::enumerate(form.outputs)) {
        SmallVector<Value> index = eb.apply(output.index, at);
        elements.push_back(
            {unsigned(i), index, kb.emitter.emit(output.value, index)});
        // Loads behind a store would not be those of the first piece.
        if (pieces == 1)
          storeAll();
      }
    }
    storeAll();
  };
  // A mask that divides vectors makes single elements of them, and one that
  // differs from vector to vector keeps what they share apart: only in the last
  // block.
  bool isShared =
      repeats > 1 && computesShared(facts, kb.pattern, plannedTotal);
  if ((vector <= unit && !isShared) || shared) {
    emit(/*isMasked=*/true);
    return kb.kernel;
  }
  Value last = kb.addIndex(start, kb.index(block));
  Value isWhole = arith::CmpIOp::create(kb.builder, kb.loc,
                                        arith::CmpIPredicate::sle, last, end);
  auto branch = scf::IfOp::create(kb.builder, kb.loc, isWhole,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.setInsertionPoint(branch.thenYield());
  emit(/*isMasked=*/false);
  kb.builder.setInsertionPoint(branch.elseYield());
  emit(/*isMasked=*/true);
  return kb.kernel;
}
