//===- GenerateTest.cpp - random graphs -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Fuzz/RunCase.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace fusec;
using namespace fusec::fuzz;

static Case generated(uint64_t seed) {
  llvm::Expected<Case> subject = generate(seed);
  if (!subject)
    llvm::report_fatal_error(subject.takeError());
  return std::move(*subject);
}

static std::string textOf(Case &subject) {
  std::string text;
  llvm::raw_string_ostream os(text);
  subject.model.module->print(os);
  return text;
}

TEST(Rng, IsTheSameEverywhere) {
  Rng rng(42);
  EXPECT_EQ(rng.bits(), 0xeb26e66ed8523fb2u);
  EXPECT_EQ(rng.below(1000), 390);
}

TEST(Generate, SameSeedSameCase) {
  for (uint64_t seed : {0, 7, 123456789}) {
    Case a = generated(seed), b = generated(seed);
    EXPECT_EQ(textOf(a), textOf(b));
    ASSERT_EQ(a.inputs.size(), b.inputs.size());
    for (auto [x, y] : llvm::zip(a.inputs, b.inputs))
      EXPECT_EQ(*x.bytes, *y.bytes);
  }
}

/// What is left out would never be tested: nothing may be.
/// Some units read only the upper bits of a number: NaN has to be one for them.
TEST(Generate, NaNHasAnyBits) {
  size_t plain = 0, signalling = 0, full = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Case subject = generated(seed);
    for (const HostTensor &input : subject.inputs)
      for (int64_t i = 0; input.dtype == DType::F32 && i < input.elements();
           ++i) {
        uint64_t bits = input.getBits(i);
        plain += bits == 0x7fc00000;
        signalling += (bits & 0x7fffffff) == 0x7f800001;
        full += bits == 0xffffffffu;
      }
  }
  EXPECT_GT(plain, 0u);
  EXPECT_GT(signalling, 0u);
  EXPECT_GT(full, 0u);
}

TEST(Generate, ReachesEveryOpAndType) {
  std::set<std::string> ops;
  std::set<DType> types;
  Case first = generated(0);
  mlir::MLIRContext *context = first.model.context.get();
  for (uint64_t seed = 0; seed < 2500; ++seed) {
    Case subject = generated(seed);
    subject.model.module->walk([&](mlir::Operation *op) {
      ops.insert(op->getName().getStringRef().str());
      for (mlir::Type type : op->getResultTypes())
        if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
          types.insert(*graph::toDType(tensor.getElementType()));
    });
  }
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations())
    // Regions that become kernels are the planner's to make.
    if (mlir::isa<graph::GraphDialect>(name.getDialect()) &&
        name.getStringRef() != graph::FusionOp::getOperationName())
      EXPECT_TRUE(ops.count(name.getStringRef().str()))
          << "never generated: " << name.getStringRef().str();
  EXPECT_EQ(types.size(), size_t(DType::Bool) + 1);
}

TEST(Moves, KeepGraphsValidAndNameOutputs) {
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 90; ++seed) {
    Case subject = generated(seed);
    auto types = subject.model.outputs;
    Rng rng(seed);
    llvm::Expected<Move> move = applyMoves(subject, rng);
    ASSERT_TRUE(bool(move)) << llvm::toString(move.takeError());
    ASSERT_EQ(move->outputs.size(), subject.model.outputs.size());
    for (auto [output, spec] : llvm::zip(move->outputs, subject.model.outputs))
      if (output >= 0) {
        EXPECT_EQ(types[output].shape, spec.shape) << move->what;
        EXPECT_EQ(types[output].dtype, spec.dtype) << move->what;
      }
    EXPECT_EQ(subject.inputs.size(), subject.model.inputs.size());
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(move->what).split(parts, ", ", -1, false);
    for (llvm::StringRef part : parts)
      kinds.insert(part.str());
  }
  EXPECT_EQ(kinds.size(), 8u);
}

/// The evaluator itself stays in the bounds after moves.
TEST(Moves, KeepResults) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Case subject = generated(seed);
    auto bounds =
        reference::evaluateBounds(subject.model.function(), subject.inputs);
    if (!bounds) {
      llvm::consumeError(bounds.takeError()); // too much for a test
      continue;
    }
    auto specs = subject.model.outputs;
    Rng rng(seed);
    llvm::Expected<Move> move = applyMoves(subject, rng);
    ASSERT_TRUE(bool(move)) << llvm::toString(move.takeError());
    auto found = reference::evaluate(subject.model.function(), subject.inputs);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    for (auto [i, output] : llvm::enumerate(move->outputs))
      if (output >= 0) {
        verify::Judgement judged =
            verify::judge(specs[output], (*bounds)[output], (*found)[i]);
        EXPECT_EQ(judged.outcome, verify::Outcome::Right)
            << seed << " after " << move->what << ": " << judged.message;
      }
  }
}

/// The bounds hold for the evaluator itself, which rounds where they say.
TEST(RunCase, ReferenceIsRight) {
  std::vector<uint64_t> seeds(100);
  std::iota(seeds.begin(), seeds.end(), 1000);
  // Sizes of 0 beside large ones: what is left of them is still to be judged.
  seeds.insert(seeds.end(), {71000885, 71024647});
  for (uint64_t seed : seeds) {
    CaseReport report = runCase(seed, {}, [](llvm::StringRef) {});
    EXPECT_EQ(report.failure, "") << seed;
    for (const WayReport &way : report.ways)
      EXPECT_EQ(way.judgement.outcome, verify::Outcome::Right)
          << seed << ": " << way.judgement.message;
  }
}
