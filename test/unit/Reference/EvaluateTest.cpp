//===- EvaluateTest.cpp - the evaluator's own rules -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ReferenceTestUtils.h"
#include "gtest/gtest.h"
#include <sys/resource.h>

using namespace fusec;
using namespace fusec::reference;
using namespace fusec::reference::test;

/// The message of an evaluation that must fail.
static std::string failureOf(Graph &graph, llvm::ArrayRef<HostTensor> arguments,
                             const EvaluateOptions &options = {}) {
  auto results = evaluate(graph.function(), arguments, options);
  if (results) {
    ADD_FAILURE() << "expected an error";
    return "";
  }
  return llvm::toString(results.takeError());
}

static const char *kChain =
    "func.func @f(%x: tensor<2x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xf32>) "
    "{\n"
    "  %0 = graph.add %x, %x : tensor<2x?xf32>\n"
    "  %1 = graph.mul %0, %x : tensor<2x?xf32>\n"
    "  %2 = graph.neg %1 : tensor<2x?xf32>\n"
    "  return %2, %x : tensor<2x?xf32>, tensor<2x?xf32>\n}\n";

TEST(Evaluate, ChainWithDynamicSizes) {
  Graph graph(kChain);
  auto results = run(graph, {reals(DType::F32, {2, 2}, {1, 2, 3, 4})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(asReals(results[0]), (std::vector<double>{-2, -8, -18, -32}));
  EXPECT_EQ(asReals(results[1]), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(run(graph, {reals(DType::F32, {2, 0}, {})})[0].elements(), 0);
}

TEST(Evaluate, RefusesArgumentsThatDoNotFit) {
  Graph graph(kChain);
  EXPECT_EQ(failureOf(graph, {}), "expected 1 arguments, found 0");
  EXPECT_EQ(failureOf(graph, {reals(DType::F32, {3, 2}, {1, 2, 3, 4, 5, 6})}),
            "argument 0 must be tensor<2x?xf32>, found f32[3,2]");
  EXPECT_EQ(failureOf(graph, {reals(DType::F16, {2, 1}, {1, 2})}),
            "argument 0 must be tensor<2x?xf32>, found f16[2,1]");
  HostTensor broken = reals(DType::F32, {2, 2}, {1, 2, 3, 4});
  broken.shape = {2, 3};
  EXPECT_EQ(failureOf(graph, {broken}),
            "expected 6 elements in a host tensor, found 4");
}

TEST(Evaluate, EndsAtTheStepLimit) {
  Graph graph(kChain);
  EvaluateOptions options;
  options.maxSteps = 20;
  std::string message =
      failureOf(graph, {reals(DType::F32, {2, 2}, {1, 2, 3, 4})}, options);
  EXPECT_NE(message.find("graph."), std::string::npos) << message;
  EXPECT_NE(message.find("evaluation takes more than 20 steps"),
            std::string::npos)
      << message;
}

TEST(Evaluate, RefusesHugeResults) {
  Graph graph("func.func @f(%x: tensor<1xf32>) -> tensor<1073741824x16xf32> {\n"
              "  %0 = graph.broadcast %x [1] : tensor<1xf32> -> "
              "tensor<1073741824x16xf32>\n"
              "  return %0 : tensor<1073741824x16xf32>\n}\n");
  std::string message = failureOf(graph, {reals(DType::F32, {1}, {1})});
  EXPECT_NE(message.find("graph.broadcast"), std::string::npos) << message;
}

TEST(Evaluate, LimitsWhatIsAliveAtOnce) {
  // The first chain keeps one value of 8 kB alive, the second all of them.
  std::string chain =
      "func.func @f(%0: tensor<1000xf32>) -> tensor<1000xf32> {\n";
  for (int i = 0; i < 8; ++i)
    chain += "  %" + std::to_string(i + 1) + " = graph.neg %" +
             std::to_string(i) + " : tensor<1000xf32>\n";
  std::string end = "  return %8 : tensor<1000xf32>\n}\n";
  std::string join =
      "  %c = graph.concat %1, %2, %3, %4, %5, %6, %7, %8 axis = 0 : ";
  for (int i = 0; i < 8; ++i)
    join += i ? ", tensor<1000xf32>" : "tensor<1000xf32>";
  join += " -> tensor<8000xf32>\n";
  HostTensor x = reals(DType::F32, {1000}, std::vector<double>(1000, 1.0));
  EvaluateOptions options;
  options.maxLiveBytes = 40000;
  Graph plain(chain + end), joined(chain + join + end);
  EXPECT_EQ(run(plain, {x}, options).size(), 1u);
  std::string message = failureOf(joined, {x}, options);
  EXPECT_NE(message.find("graph.neg"), std::string::npos) << message;
}

TEST(Evaluate, NamesWhatItCannotEvaluate) {
  Graph dynamic(
      "func.func @f(%x: tensor<1xf32>) -> tensor<?xf32> {\n"
      "  %0 = graph.broadcast %x [0] : tensor<1xf32> -> tensor<?xf32>\n"
      "  return %0 : tensor<?xf32>\n}\n");
  std::string message = failureOf(dynamic, {reals(DType::F32, {1}, {1})});
  EXPECT_NE(message.find("the result needs a static shape"), std::string::npos)
      << message;
  Graph call("func.func private @g(tensor<1xf32>) -> tensor<1xf32>\n"
             "func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {\n"
             "  %0 = func.call @g(%x) : (tensor<1xf32>) -> tensor<1xf32>\n"
             "  return %0 : tensor<1xf32>\n}\n");
  message = failureOf(call, {reals(DType::F32, {1}, {1})});
  EXPECT_NE(message.find("func.call"), std::string::npos) << message;
  EXPECT_NE(message.find("the evaluator has no such op"), std::string::npos)
      << message;
}

TEST(Evaluate, DynamicShapesThatDisagree) {
  Graph graph(
      "func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = graph.add %x, %y : tensor<?xf32>\n"
      "  return %0 : tensor<?xf32>\n}\n");
  std::string message = failureOf(graph, {reals(DType::F32, {2}, {1, 2}),
                                          reals(DType::F32, {3}, {1, 2, 3})});
  EXPECT_NE(message.find("operands must have one shape"), std::string::npos)
      << message;
}

/// The largest memory that this process ever held, in bytes.
static int64_t peakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

TEST(Evaluate, FreesValuesAfterTheirLastUse) {
  // The chain's values are 1.6 GB together and two of them 1.6 MB.
  std::string text =
      "func.func @f(%0: tensor<100000xf32>) -> tensor<100000xf32> {\n";
  for (int i = 0; i < 2000; ++i)
    text += "  %" + std::to_string(i + 1) + " = graph.neg %" +
            std::to_string(i) + " : tensor<100000xf32>\n";
  text += "  return %2000 : tensor<100000xf32>\n}\n";
  Graph graph(text);
  HostTensor x = reals(DType::F32, {100000}, std::vector<double>(100000, 1.5));
  int64_t before = peakMemory();
  auto results = run(graph, {x});
  EXPECT_LT(peakMemory() - before, int64_t(200) << 20);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].getF64(99999), 1.5);
}

TEST(Evaluate, OneOpAlone) {
  Graph graph({"tensor<3xi8>", "tensor<3xi8>"}, "tensor<3xi8>",
              "graph.add %0, %1 : tensor<3xi8>");
  HostTensor x = wholes(DType::I8, {3}, {127, -128, 5});
  auto results = evaluateOp(graph.op(), {x, x});
  ASSERT_TRUE(static_cast<bool>(results))
      << llvm::toString(results.takeError());
  EXPECT_EQ(asWholes((*results)[0]), (std::vector<int64_t>{-2, 0, 10}));
  auto missing = evaluateOp(graph.op(), {x});
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "expected 2 operands, found 1");
}

TEST(Evaluate, SharedInputsStayAsTheyWere) {
  Graph graph({"tensor<2xf32>"}, "tensor<2xf32>",
              "graph.neg %0 : tensor<2xf32>");
  HostTensor x = reals(DType::F32, {2}, {1, 2});
  HostTensor alias = x;
  run(graph, {x});
  EXPECT_EQ(asReals(alias), (std::vector<double>{1, 2}));
}
