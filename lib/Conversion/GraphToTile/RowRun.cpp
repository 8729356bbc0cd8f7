//===- RowRun.cpp - short rows of odd length ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of 127 bf16 start anywhere in a 16-byte vector of memory, but eight of
// them are a whole number of vectors. A block takes such a group of rows:
//
//   every input of full size, as one run of vectors -> shared memory, in the
//     background
//   barrier
//   words of shared memory -> reductions -> shared memory
//   barrier
//   every output of full size, as one run of vectors -> memory
//
// Neighbouring lanes take neighbouring words, so banks do not conflict, and
// each element is read and written by one thread, so that an output may have
// the place of an input. Where rows start within a word, as every other one of
// 127 bf16 does, what lies between whole words is apart (RowEdges.cpp): a row
// of 129 is 64 words and one element, which is at either end. The last block,
// whose rows end within a vector, copies single elements.
//===----------------------------------------------------------------------===//
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

/// Elements of a 16-byte vector.
static int64_t vectorOf(Type element) {
  return 16 / llvm::divideCeil(element.getIntOrFloatBitWidth(), uint64_t(8));
}

namespace {
class RunSchedule : public RowSchedule {
public:
  RunSchedule(KernelBuilder &kb, const analysis::RowTiling &rowTiling)
      : RowSchedule(kb, rowTiling), buffers(analysis::runBuffers(kb.form)),
        count(tiling.rows() * columns) {}
  void run();

protected:
  // No block has threads past the last row then.
  Value rowsInside(RankedTensorType carrier, Value linear) override {
    return hasWholeGroups() ? Value()
                            : RowSchedule::rowsInside(carrier, linear);
  }

  // Rows of a block start where they do in memory: blocks do at whole vectors.
  Body bodyOf(Value) override { return RowSchedule::bodyOf(rowHere); }
  SmallVector<Value> statesOfRows(const analysis::RegionStage &stage) override;

private:
  /// A tile of a row's elements: which, and those of them that exist.
  struct Part {
    SmallVector<Value> spine;
    Value column, rowMask, columnMask, mask;
  };
  Part here() const;
  void enter(const Part &part);
  void enterAll();
  void allocate();
  /// Builds what whole groups of rows do and what the rows of the last do.
  void split(llvm::function_ref<void()> whole, llvm::function_ref<void()> rest);
  /// Places of the run in the order in which threads copy it, `vector` at a
  /// time, and which of them exist.
  struct Places {
    Value place, offset, mask;
  };
  Places vectorsOf(Type element);
  Places elements();
  void copyIn();
  void copyOut();
  Value placeHere();
  Value load(unsigned buffer);
  void store(unsigned buffer, Value value);
  void storeHere(ValueRange values);
  Type storageOf(unsigned buffer) const {
    return RegionEmitter::storageType(
        cast<RankedTensorType>(buffers[buffer].type).getElementType());
  }

  SmallVector<analysis::RunBuffer, 4> buffers;
  SmallVector<Value> shared;
  /// Rows of the full carrier within the block.
  Value rowHere;
  /// Whole words, and then the ends if there are any.
  SmallVector<Part, 2> parts;
  /// Elements of a block.
  int64_t count;
};
} // namespace

/// Copies of what is past the last vector leave zeros behind it.
void RunSchedule::allocate() {
  for (unsigned i = 0; i < buffers.size(); ++i) {
    int64_t round = tiling.threads() * vectorOf(storageOf(i));
    int64_t size = llvm::divideCeil(count, uint64_t(round)) * round;
    shared.push_back(tile::AllocOp::create(
        kb.builder, kb.loc,
        MemRefType::get({size}, storageOf(i), MemRefLayoutAttrInterface(),
                        kb.builder.getI64IntegerAttr(tile::kSharedSpace))));
  }
}

void RunSchedule::split(llvm::function_ref<void()> whole,
                        llvm::function_ref<void()> rest) {
  if (hasWholeGroups())
    return whole();
  OpBuilder::InsertionGuard guard(kb.builder);
  Value last = kb.addIndex(rowStart, kb.index(tiling.rows()));
  Value isWhole = arith::CmpIOp::create(
      kb.builder, kb.loc, arith::CmpIPredicate::sle, last, rowBound());
  auto branch = scf::IfOp::create(kb.builder, kb.loc, isWhole,
                                  /*withElseRegion=*/true);
  kb.builder.setInsertionPoint(branch.thenYield());
  whole();
  kb.builder.setInsertionPoint(branch.elseYield());
  rest();
}

RunSchedule::Places RunSchedule::vectorsOf(Type element) {
  int64_t vector = vectorOf(element);
  int64_t threads = tiling.threads(), vectors = count / vector;
  int64_t trips = llvm::divideCeil(vectors, uint64_t(threads));
  RankedTensorType carrier = kb.carrierType(
      {trips * threads, vector},
      tile::LayoutAttr::get(kb.builder.getContext(),
                            {Digit{vector, 1, 1}, Digit{trips, threads, 0}},
                            {Digit{32, 1, 0}}, {Digit{threads / 32, 32, 0}}));
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value slot = kb.axisTile(carrier, 0, kb.index(0));
  Value place = eb.addIndex(eb.mulIndex(slot, vector),
                            kb.axisTile(carrier, 1, kb.index(0)));
  Value start = tile::SplatOp::create(kb.builder, kb.loc, place.getType(),
                                      kb.mulIndex(rowStart, columns));
  Value mask;
  if (trips * threads != vectors)
    mask = kb.below(carrier, slot, kb.index(vectors));
  return {place, eb.addIndex(start, place), mask};
}

RunSchedule::Places RunSchedule::elements() {
  int64_t threads = tiling.threads();
  int64_t trips = llvm::divideCeil(count, uint64_t(threads));
  RankedTensorType carrier = kb.carrierType(
      {trips * threads},
      tile::LayoutAttr::get(kb.builder.getContext(), {Digit{trips, threads, 0}},
                            {Digit{32, 1, 0}}, {Digit{threads / 32, 32, 0}}));
  kb.emitter.setCarrier(carrier);
  Value place = kb.axisTile(carrier, 0, kb.index(0));
  Value offset = kb.axisTile(carrier, 0, kb.mulIndex(rowStart, columns));
  return {place, offset,
          kb.below(carrier, offset, kb.mulIndex(rowBound(), columns))};
}

void RunSchedule::copyIn() {
  auto forInputs = [&](auto copy) {
    for (auto [i, buffer] : llvm::enumerate(buffers))
      if (buffer.input)
        copy(i, kb.emitter.buffers.lookup(buffer.input));
  };
  split(
      [&] {
        forInputs([&](unsigned i, Value from) {
          Places at = vectorsOf(storageOf(i));
          tile::CopyOp::create(kb.builder, kb.loc, from, at.offset, shared[i],
                               at.place, at.mask, /*vector=*/1);
        });
        tile::CopyCommitOp::create(kb.builder, kb.loc);
        tile::CopyWaitOp::create(kb.builder, kb.loc, 0);
      },
      [&] {
        forInputs([&](unsigned i, Value from) {
          Places at = elements();
          graph::ElementBuilder eb = kb.emitter.elements();
          Value loaded = tile::LoadOp::create(
              kb.builder, kb.loc, eb.type(storageOf(i)), from, at.offset,
              at.mask, eb.zero(storageOf(i)), /*vector=*/1);
          tile::StoreOp::create(kb.builder, kb.loc, loaded, shared[i], at.place,
                                at.mask, /*vector=*/1);
        });
      });
  tile::BarrierOp::create(kb.builder, kb.loc);
}

void RunSchedule::copyOut() {
  auto forOutputs = [&](llvm::function_ref<Places(Type)> places) {
    for (auto [i, buffer] : llvm::enumerate(buffers)) {
      if (!buffer.output)
        continue;
      Places at = places(storageOf(i));
      graph::ElementBuilder eb = kb.emitter.elements();
      // Where a copy came, there are zeros past the last vector.
      Value mask = buffer.input && hasWholeGroups() ? Value() : at.mask;
      Value loaded = tile::LoadOp::create(
          kb.builder, kb.loc, eb.type(storageOf(i)), shared[i], at.place, mask,
          mask ? eb.zero(storageOf(i)) : Value(), /*vector=*/1);
      tile::StoreOp::create(kb.builder, kb.loc, loaded,
                            kb.outputBuffer(*buffer.output), at.offset, at.mask,
                            /*vector=*/1);
    }
  };
  if (!hasFull())
    return;
  tile::BarrierOp::create(kb.builder, kb.loc);
  split([&] { forOutputs([&](Type element) { return vectorsOf(element); }); },
        [&] { forOutputs([&](Type) { return elements(); }); });
}

/// Where the elements of the full carrier are in the run.
Value RunSchedule::placeHere() {
  return kb.emitter.offset({rowHere, columnFull}, {tiling.rows(), columns});
}

RunSchedule::Part RunSchedule::here() const {
  return {spineFull, columnFull, rowMaskFull, columnMask, fullMask};
}

void RunSchedule::enter(const Part &part) {
  spineFull = part.spine;
  columnFull = part.column;
  rowMaskFull = part.rowMask;
  columnMask = part.columnMask;
  fullMask = part.mask;
  kb.emitter.setCarrier(full);
  kb.emitter.setMask(fullMask);
}

void RunSchedule::enterAll() {
  rowHere = kb.axisTile(full, 0, kb.index(0));
  kb.emitter.setRange(rowHere, tiling.rows());
  enterColumns(kb.index(0));
  parts.push_back(here());
  if (!tiling.edges)
    return;
  enterEdges();
  parts.push_back(here());
}

SmallVector<Value>
RunSchedule::statesOfRows(const analysis::RegionStage &stage) {
  enter(parts.front());
  SmallVector<Value> states = liftTile(stage);
  if (parts.size() == 1)
    return states;
  // Few registers have an end: the others add nothing, not even an identity.
  enter(parts.back());
  Value mask = std::exchange(columnMask, Value());
  SmallVector<Value> ends = liftTile(stage);
  SmallVector<Value> all =
      addTile(cast<graph::ReductionOpInterface>(stage.op), ends, states);
  for (auto [state, both] : llvm::zip(states, all))
    state = kb.emitter.elements().select(mask, both, state);
  return states;
}

Value RunSchedule::load(unsigned buffer) {
  graph::ElementBuilder eb = kb.emitter.elements();
  Type storage = storageOf(buffer);
  Value mask = kb.emitter.getMask();
  Value loaded =
      tile::LoadOp::create(kb.builder, kb.loc, eb.type(storage), shared[buffer],
                           placeHere(), mask, mask ? eb.zero(storage) : Value(),
                           /*vector=*/1);
  return kb.emitter.fromStorage(
      loaded, cast<RankedTensorType>(buffers[buffer].type).getElementType());
}

void RunSchedule::store(unsigned buffer, Value value) {
  Type element = cast<RankedTensorType>(buffers[buffer].type).getElementType();
  tile::StoreOp::create(kb.builder, kb.loc,
                        kb.emitter.toStorage(value, element), shared[buffer],
                        placeHere(), kb.emitter.getMask(), /*vector=*/1);
}

/// Stores the outputs of each element in their places.
void RunSchedule::storeHere(ValueRange values) {
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    if (!isFull(output))
      continue;
    const auto *buffer = llvm::find_if(
        buffers, [&](const analysis::RunBuffer &b) { return b.output == i; });
    store(buffer - buffers.begin(), values.front());
    values = values.drop_front();
  }
}

void RunSchedule::run() {
  markQuotients();
  kb.begin(tiling.threads(), {tiling.blocks(rows), 1, 1}, {rows});
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  allocate();
  copyIn();
  kb.emitter.staged = [this](Value value, ValueRange index) {
    for (auto [i, buffer] : llvm::enumerate(buffers))
      if (buffer.input == value)
        return load(i);
    return lookup(value, index);
  };
  enterAll();
  reduceLevels();
  storeUniform();
  // All of them first: they may take the places of inputs.
  SmallVector<SmallVector<Value>, 2> values;
  for (const Part &part : parts) {
    enter(part);
    values.push_back(fullValues());
  }
  for (auto [part, all] : llvm::zip(parts, values)) {
    enter(part);
    storeHere(all);
  }
  copyOut();
}

void graph_to_tile::scheduleRun(KernelBuilder &kb,
                                const analysis::RowTiling &tiling) {
  RunSchedule(kb, tiling).run();
}
