//===- FormGroupsStressTest.cpp - large and nasty graphs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated graphs on which fusers have been seen to explode. The assertions
// count the planner's work; the time limits only catch hangs.
//===----------------------------------------------------------------------===//
#include "StructuralHash.h"
#include "fusec/Fusion/FormGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <chrono>
#include <random>

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

namespace {

class FormGroupsStress : public ::testing::Test {
protected:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::unique_ptr<OpBuilder> builder;
  Location loc = UnknownLoc::get(&context);

  void SetUp() override {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
    context.disableMultithreading();
  }

  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }

  void begin(ArrayRef<Type> inputs) {
    module = ModuleOp::create(loc);
    builder = std::make_unique<OpBuilder>(&context);
    builder->setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(*builder, loc, "f",
                                    builder->getFunctionType(inputs, {}));
    builder->setInsertionPointToStart(function.addEntryBlock());
  }

  FusionDecisions end(ValueRange results, double maxSeconds = 20) {
    func::ReturnOp::create(*builder, loc, results);
    function.setType(builder->getFunctionType(function.getArgumentTypes(),
                                              results.getTypes()));
    llvm::hash_code before = test::StructuralHash::of(function);
    auto start = std::chrono::steady_clock::now();
    FusionDecisions decisions = formGroups(function);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
    RecordProperty("attempts", static_cast<int>(decisions.attempts));
    RecordProperty("analyzedOps", static_cast<int>(decisions.analyzedOps));
    EXPECT_LT(seconds, maxSeconds);
    EXPECT_TRUE(succeeded(verify(*module)));
    EXPECT_EQ(test::StructuralHash::of(function), before);
    EXPECT_TRUE(succeeded(verifyGroups(function)));
    return decisions;
  }

  Value add(Value a, Value b) {
    return graph::AddOp::create(*builder, loc, a, b);
  }
};

TEST_F(FormGroupsStress, Chain100k) {
  constexpr unsigned n = 100000;
  begin(tensor({64, 64}));
  Value value = function.getArgument(0);
  for (unsigned i = 0; i < n; ++i)
    value = graph::NegOp::create(*builder, loc, value);
  FusionDecisions decisions = end(value);
  EXPECT_LE(decisions.attempts, 4u * n);
  EXPECT_LE(decisions.analyzedOps, 12u * n);
  EXPECT_EQ(decisions.clonedOps, 0u);
  // Groups are at most 512 ops and at least half full on average.
  EXPECT_LE(decisions.kernels.size(), 2 * n / 512 + 1);
}

TEST_F(FormGroupsStress, StackedDiamonds60) {
  begin(tensor({4096}));
  Value value = function.getArgument(0);
  for (unsigned i = 0; i < 60; ++i) {
    Value left = graph::ExpOp::create(*builder, loc, value);
    Value right = graph::NegOp::create(*builder, loc, value);
    value = add(left, right);
  }
  FusionDecisions decisions = end(value);
  EXPECT_EQ(decisions.kernels.size(), 1u);
  EXPECT_EQ(decisions.clonedOps, 0u);
  EXPECT_LE(decisions.attempts, 2000u);
}

// 5 000 chains of two kernels, nothing between chains: two levels of launches,
// as many parts in each as parameters allow.
TEST_F(FormGroupsStress, IndependentChains) {
  constexpr unsigned n = 5000;
  SmallVector<Type> types(n);
  for (unsigned i = 0; i < n; ++i)
    types[i] = tensor({8, 2 + i % 7});
  begin(types);
  SmallVector<Value> results;
  for (unsigned i = 0; i < n; ++i) {
    Value row =
        graph::ReduceOp::create(*builder, loc, graph::ReduceKind::sum,
                                function.getArgument(i), ArrayRef<int64_t>{1});
    Value square = graph::ReshapeOp::create(*builder, loc, tensor({2, 4}), row);
    results.push_back(graph::ReduceOp::create(
        *builder, loc, graph::ReduceKind::sum, square, ArrayRef<int64_t>{0}));
  }
  FusionDecisions decisions = end(results);
  unsigned parts = 0;
  for (const KernelDecision &kernel : decisions.kernels)
    parts += kernel.parts.size();
  EXPECT_EQ(parts, 2 * n);
  EXPECT_LE(decisions.kernels.size(), 24u);
}

TEST_F(FormGroupsStress, Fibonacci) {
  begin({tensor({4096}), tensor({4096})});
  Value a = function.getArgument(0), b = function.getArgument(1);
  for (unsigned i = 0; i < 400; ++i) {
    Value next = add(a, b);
    a = b;
    b = next;
  }
  FusionDecisions decisions = end(b);
  EXPECT_EQ(decisions.kernels.size(), 1u);
  EXPECT_EQ(decisions.clonedOps, 0u);
}

TEST_F(FormGroupsStress, FibonacciThroughBroadcasts) {
  // Every step goes through index arithmetic, which the planner likes to copy:
  // copies stay within the bound.
  begin({tensor({64}), tensor({64})});
  Value a = function.getArgument(0), b = function.getArgument(1);
  unsigned numOps = 0;
  for (unsigned i = 0; i < 200; ++i) {
    Value left = graph::ReshapeOp::create(*builder, loc, tensor({8, 8}), a);
    Value right = graph::ReshapeOp::create(*builder, loc, tensor({8, 8}), b);
    Value sum = add(left, right);
    Value next = graph::ReshapeOp::create(*builder, loc, tensor({64}), sum);
    numOps += 4;
    a = b;
    b = next;
  }
  FusionDecisions decisions = end(b);
  EXPECT_LE(decisions.clonedOps, numOps);
  EXPECT_LE(decisions.kernels.size(), 20u);
}

TEST_F(FormGroupsStress, RandomGraph10k) {
  constexpr unsigned n = 10000;
  std::mt19937 random(1);
  begin({tensor({128, 64}), tensor({128, 64}), tensor({64})});
  SmallVector<Value> full{function.getArgument(0), function.getArgument(1)};
  SmallVector<Value> rows{function.getArgument(2)}, sums;
  auto pick = [&](ArrayRef<Value> from) {
    // Mostly recent values.
    unsigned back = random() % 8 ? random() % 20 : random() % 400;
    return from[from.size() - 1 - std::min<size_t>(back, from.size() - 1)];
  };
  for (unsigned i = 0; i < n; ++i) {
    unsigned kind = random() % 100;
    if (kind < 45)
      full.push_back(add(pick(full), pick(full)));
    else if (kind < 75)
      full.push_back(graph::ExpOp::create(*builder, loc, pick(full)));
    else if (kind < 82)
      full.push_back(graph::BroadcastOp::create(
          *builder, loc, tensor({128, 64}), pick(rows),
          builder->getDenseI64ArrayAttr({1})));
    else if (kind < 90)
      rows.push_back(graph::ReduceOp::create(
          *builder, loc, tensor({64}), graph::ReduceKind::sum, pick(full),
          builder->getDenseI64ArrayAttr({0})));
    else if (kind < 94)
      sums.push_back(graph::ReduceOp::create(
          *builder, loc, tensor({128}), graph::ReduceKind::max, pick(full),
          builder->getDenseI64ArrayAttr({1})));
    else if (kind < 97 && !sums.empty())
      full.push_back(graph::BroadcastOp::create(
          *builder, loc, tensor({128, 64}), pick(sums),
          builder->getDenseI64ArrayAttr({0})));
    else
      full.push_back(graph::NegOp::create(*builder, loc, pick(full)));
  }
  SmallVector<Value> results;
  for (Operation &op : function.getBody().front())
    if (op.use_empty())
      results.push_back(op.getResult(0));
  FusionDecisions decisions = end(results);
  EXPECT_LE(decisions.clonedOps, n);
  EXPECT_LE(decisions.attempts, 20u * n);
  EXPECT_LE(decisions.analyzedOps, 400u * n);
  EXPECT_LT(decisions.kernels.size(), n / 3);
}

TEST_F(FormGroupsStress, ThirtyLayerPerceptron) {
  constexpr unsigned layers = 30;
  SmallVector<Type> inputs{tensor({256, 256})};
  for (unsigned i = 0; i < layers; ++i) {
    inputs.push_back(tensor({256, 256}));
    inputs.push_back(tensor({256}));
  }
  begin(inputs);
  Value value = function.getArgument(0);
  for (unsigned i = 0; i < layers; ++i) {
    value = graph::ContractOp::create(
        *builder, loc, tensor({256, 256}), value,
        function.getArgument(1 + 2 * i), ArrayRef<int64_t>{},
        ArrayRef<int64_t>{}, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0});
    Value bias = graph::BroadcastOp::create(*builder, loc, tensor({256, 256}),
                                            function.getArgument(2 + 2 * i),
                                            builder->getDenseI64ArrayAttr({1}));
    value = graph::TanhOp::create(*builder, loc, add(value, bias));
  }
  FusionDecisions decisions = end(value);
  EXPECT_EQ(decisions.kernels.size(), layers);
}

} // namespace
