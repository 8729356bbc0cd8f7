//===- RegionSoundnessTest.cpp - forms keep their promises ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random small graphs are planned; then every form is checked point by point,
// without the code that made it: outputs are stored exactly once, stages run
// over their loops exactly once, and whatever an op reads at a spine point is
// evaluated at that very point.
//===----------------------------------------------------------------------===//
#include "StructuralHash.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Fusion/FormGroups.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using analysis::KernelKind;
using analysis::RegionForm;

namespace {

using Index = std::vector<int64_t>;

Index at(AffineMap map, ArrayRef<int64_t> point) {
  SmallVector<int64_t> result = map.compose(point);
  return Index(result.begin(), result.end());
}

void forEachPoint(ArrayRef<int64_t> sizes,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> point(sizes.size(), 0);
  if (llvm::is_contained(sizes, 0))
    return;
  while (true) {
    visit(point);
    unsigned i = 0;
    while (i < sizes.size() && ++point[i] == sizes[i])
      point[i++] = 0;
    if (i == sizes.size())
      return;
  }
}

bool inRange(const Index &index, ArrayRef<int64_t> shape) {
  for (auto [i, size] : llvm::zip(index, shape))
    if (i < 0 || i >= size)
      return false;
  return true;
}

/// True if `map` from the box `domain` hits each point of `shape` once.
bool isBijection(AffineMap map, ArrayRef<int64_t> domain,
                 ArrayRef<int64_t> shape) {
  std::set<Index> hit;
  bool ok = true;
  forEachPoint(domain, [&](ArrayRef<int64_t> point) {
    Index index = at(map, point);
    ok &= inRange(index, shape) && hit.insert(index).second;
  });
  return ok &&
         static_cast<int64_t>(hit.size()) == *analysis::numElements(shape);
}

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

class FormChecker {
public:
  FormChecker(analysis::FactTable &facts, const RegionForm &form)
      : facts(facts), form(form), spine(form.spine()) {}

  void check() {
    for (const RegionForm &part : form.parts)
      FormChecker(facts, part).check();
    if (!form.parts.empty())
      return; // outputs of a part are placed on its own spine
    for (const analysis::RegionOutput &output : form.outputs)
      checkOutput(output);
    for (const analysis::RegionStage &stage : form.stages)
      checkStage(stage);
    for (const analysis::RegionStage &stage : form.columns)
      checkColumn(stage);
    for (auto &[op, placement] : form.placements)
      checkReads(op, placement);
  }

private:
  analysis::FactTable &facts;
  const RegionForm &form;
  SmallVector<int64_t> spine;

  SmallVector<int64_t> parallelBox() const {
    SmallVector<int64_t> box = form.parallel;
    box.append(form.reduced.size(), 1);
    return box;
  }

  SmallVector<int64_t> reducedBox() const {
    SmallVector<int64_t> box(form.parallel.size(), 1);
    llvm::append_range(box, form.reduced);
    return box;
  }

  void checkOutput(const analysis::RegionOutput &output) {
    SmallVector<int64_t> shape(shapeOf(output.value));
    // The other pieces are stored behind a row's first one.
    if (output.isGathered)
      shape[output.value.getDefiningOp<graph::ConcatOp>().getAxis()] = 1;
    EXPECT_TRUE(isBijection(output.index,
                            output.isUniform  ? parallelBox()
                            : output.isColumn ? reducedBox()
                                              : spine,
                            shape));
    EXPECT_FALSE(output.isColumn &&
                 analysis::usesDimIn(output.index, 0, form.parallel.size()));
    EXPECT_EQ(
        output.isUniform,
        !analysis::usesDimIn(output.index, form.parallel.size(), spine.size()));
  }

  void checkStage(const analysis::RegionStage &stage) {
    const analysis::OpFacts *fact = facts.get(stage.op);
    EXPECT_TRUE(isBijection(stage.loops, spine, fact->loops));
    EXPECT_FALSE(
        analysis::usesDimIn(stage.result, form.parallel.size(), spine.size()));
  }

  /// Rows come one after another: nothing of one may need a column.
  void checkColumn(const analysis::RegionStage &stage) {
    const analysis::OpFacts *fact = facts.get(stage.op);
    EXPECT_TRUE(isBijection(stage.loops, spine, fact->loops));
    EXPECT_FALSE(analysis::usesDimIn(stage.result, 0, form.parallel.size()));
    for (Operation *user : stage.op->getUsers()) {
      auto placed = form.placements.find(user);
      EXPECT_TRUE(placed == form.placements.end() || placed->second.isColumn);
    }
  }

  const analysis::RegionStage *stageOf(Operation *op) const {
    for (const analysis::RegionStage &stage :
         llvm::concat<const analysis::RegionStage>(form.stages, form.columns))
      if (stage.op == op)
        return &stage;
    return nullptr;
  }

  void checkReads(Operation *op, const analysis::OpPlacement &placement) {
    const analysis::OpFacts *fact = facts.get(op);
    SmallVector<AffineMap, 1> iterations = placement.reads;
    if (const analysis::RegionStage *stage = stageOf(op))
      iterations.assign(1, stage->loops);
    for (auto [operand, access] :
         llvm::zip(op->getOperands(), fact->space.operands)) {
      Operation *producer = operand.getDefiningOp();
      auto it =
          producer ? form.placements.find(producer) : form.placements.end();
      if (it == form.placements.end())
        continue;
      for (AffineMap iteration : iterations)
        if (iteration && access.map)
          checkAvailable(fact->loops, iteration, access, operand, it->second);
    }
  }

  void checkAvailable(ArrayRef<int64_t> loops, AffineMap iteration,
                      const graph::OperandAccess &access, Value operand,
                      const analysis::OpPlacement &source) {
    bool ok = true;
    forEachPoint(spine, [&](ArrayRef<int64_t> point) {
      Index loop = at(iteration, point);
      // Outside of its loops an op is read under a mask, checked at its reader.
      if (!inRange(loop, loops))
        return;
      Index needed = at(access.map, loop);
      if (!inRange(needed, shapeOf(operand))) {
        ok &= access.isMasked;
        return;
      }
      ok &= llvm::any_of(source.reads, [&](AffineMap map) {
        return map && at(map, point) == needed;
      });
    });
    EXPECT_TRUE(ok);
  }
};

class RegionSoundness : public ::testing::Test {
protected:
  MLIRContext context;
  Location loc = UnknownLoc::get(&context);
  std::mt19937 random;
  OpBuilder builder{&context};
  SmallVector<Value> values;

  void SetUp() override {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
    context.disableMultithreading();
  }

  unsigned pick(unsigned n) { return random() % n; }
  Value any() {
    return values[values.size() - 1 - pick(std::min<size_t>(values.size(), 8))];
  }
  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }

  Value makeTranspose(Value x) {
    SmallVector<int64_t> permutation, shape;
    for (unsigned i = 0; i < shapeOf(x).size(); ++i)
      permutation.push_back(i);
    std::shuffle(permutation.begin(), permutation.end(), random);
    for (int64_t i : permutation)
      shape.push_back(shapeOf(x)[i]);
    return graph::TransposeOp::create(
        builder, loc, tensor(shape), x,
        builder.getDenseI64ArrayAttr(permutation));
  }

  Value makeReshape(Value x) {
    SmallVector<int64_t> shape(shapeOf(x));
    if (shape.size() > 1 && pick(2)) { // merge two axes
      unsigned i = pick(shape.size() - 1);
      shape[i] *= shape[i + 1];
      shape.erase(shape.begin() + i + 1);
    } else { // split off a factor
      unsigned i = shape.empty() ? 0 : pick(shape.size());
      int64_t factor = 1;
      if (!shape.empty())
        for (int64_t f : {2, 3})
          if (shape[i] % f == 0 && pick(2))
            factor = f;
      if (!shape.empty())
        shape[i] /= factor;
      shape.insert(shape.begin() + i, factor);
    }
    return graph::ReshapeOp::create(builder, loc, tensor(shape), x);
  }

  Value makeBroadcast(Value x) {
    SmallVector<int64_t> shape(shapeOf(x)), dims;
    unsigned where = pick(shape.size() + 1);
    for (unsigned i = 0; i < shape.size(); ++i)
      dims.push_back(i + (i >= where));
    shape.insert(shape.begin() + where, 1 + pick(4));
    return graph::BroadcastOp::create(builder, loc, tensor(shape), x,
                                      builder.getDenseI64ArrayAttr(dims));
  }

  Value makeSlice(Value x) {
    SmallVector<int64_t> shape(shapeOf(x)), offsets(shape.size(), 0),
        strides(shape.size(), 1);
    for (unsigned i = 0; i < shape.size(); ++i) {
      if (pick(3) == 0) {
        offsets[i] = shape[i] - 1;
        strides[i] = -1;
      } else if (shape[i] > 1 && pick(4) == 0) {
        shape[i] -= 1;
        offsets[i] = pick(2);
      }
    }
    return graph::SliceOp::create(builder, loc, tensor(shape), x,
                                  builder.getDenseI64ArrayAttr(offsets),
                                  builder.getDenseI64ArrayAttr(strides));
  }

  Value makeReduce(Value x) {
    SmallVector<int64_t> shape, dims;
    for (auto [i, size] : llvm::enumerate(shapeOf(x))) {
      if (pick(2))
        dims.push_back(i);
      else
        shape.push_back(size);
    }
    return graph::ReduceOp::create(builder, loc, tensor(shape),
                                   graph::ReduceKind::sum, x,
                                   builder.getDenseI64ArrayAttr(dims));
  }

  Value makeBinary(Value x) {
    // A partner of equal shape, often one broadcast from what x was reduced to.
    SmallVector<Value> partners;
    for (Value other : values)
      if (other.getType() == x.getType())
        partners.push_back(other);
    return graph::AddOp::create(builder, loc, x,
                                partners[pick(partners.size())]);
  }

  Value makeNormalised(Value x) {
    SmallVector<int64_t> kept, dims;
    unsigned reduced = shapeOf(x).empty() ? 0 : pick(shapeOf(x).size());
    for (auto [i, size] : llvm::enumerate(shapeOf(x)))
      if (i != reduced) {
        kept.push_back(i);
        dims.push_back(size);
      }
    if (shapeOf(x).empty())
      return x;
    Value sum = graph::ReduceOp::create(
        builder, loc, tensor(dims), graph::ReduceKind::max, x,
        builder.getDenseI64ArrayAttr({static_cast<int64_t>(reduced)}));
    Value back = graph::BroadcastOp::create(
        builder, loc, cast<RankedTensorType>(x.getType()), sum,
        builder.getDenseI64ArrayAttr(kept));
    return graph::SubOp::create(builder, loc, x, back);
  }

  Value makeConcat(Value x) {
    if (shapeOf(x).empty())
      return x;
    unsigned axis = pick(shapeOf(x).size());
    SmallVector<int64_t> shape(shapeOf(x));
    shape[axis] *= 2;
    return graph::ConcatOp::create(builder, loc, tensor(shape),
                                   ValueRange{x, x}, axis);
  }

  Value makeOp() {
    Value x = any();
    if (*analysis::numElements(shapeOf(x)) > 96)
      return makeReduce(x);
    switch (pick(10)) {
    case 0:
      return makeTranspose(x);
    case 1:
      return makeReshape(x);
    case 2:
      return makeBroadcast(x);
    case 3:
      return makeSlice(x);
    case 4:
      return makeReduce(x);
    case 5:
    case 6:
      return makeNormalised(x);
    case 7:
      return makeConcat(x);
    case 8:
      return graph::NegOp::create(builder, loc, x);
    default:
      return makeBinary(x);
    }
  }
};

TEST_F(RegionSoundness, RandomGraphs) {
  std::map<KernelKind, unsigned> kinds;
  unsigned largest = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    random.seed(seed);
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> inputs{tensor({2, 3, 4}), tensor({6, 4}),
                             tensor({1, 5, 1})};
    auto function = func::FuncOp::create(builder, loc, "f",
                                         builder.getFunctionType(inputs, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    values.assign(function.getArguments().begin(),
                  function.getArguments().end());
    for (unsigned i = 0; i < 14; ++i)
      values.push_back(makeOp());
    SmallVector<Value> results;
    for (Operation &op : function.getBody().front())
      if (op.use_empty())
        results.push_back(op.getResult(0));
    func::ReturnOp::create(builder, loc, results);
    function.setType(builder.getFunctionType(inputs, TypeRange(results)));
    ASSERT_TRUE(succeeded(verify(*module)));
    llvm::hash_code before = test::StructuralHash::of(function);
    formGroups(function);
    ASSERT_TRUE(succeeded(verify(*module)));
    ASSERT_TRUE(succeeded(verifyGroups(function)));
    ASSERT_EQ(test::StructuralHash::of(function), before);
    for (auto fusion : function.getBody().getOps<graph::FusionOp>()) {
      analysis::FactTable facts;
      analysis::RegionVerdict verdict = analysis::analyzeFusion(facts, fusion);
      ASSERT_TRUE(bool(verdict));
      ++kinds[verdict->kind];
      for (const RegionForm &part : verdict->parts)
        ++kinds[part.kind];
      largest = std::max<unsigned>(largest, verdict->ops.size());
      FormChecker(facts, *verdict).check();
      if (HasFailure()) {
        fusion->getParentOfType<func::FuncOp>().dump();
        fusion.dump();
        FAIL() << "seed " << seed;
      }
    }
  }
  // The graphs must exercise what they are meant to.
  EXPECT_GT(kinds[KernelKind::Row], 200u);
  EXPECT_GT(kinds[KernelKind::Pointwise], 100u);
  EXPECT_GT(largest, 8u);
}

} // namespace
