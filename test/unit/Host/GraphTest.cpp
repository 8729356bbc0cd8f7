//===- GraphTest.cpp - whole graphs on the host ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "../Reference/ReferenceTestUtils.h"
#include "HostHarness.h"
#include "fusec/Runtime/Host/HostDevice.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace fusec;
using namespace fusec::host;
using namespace fusec::reference::test;
using fusec::host::test::runOnHost;

/// Values in [-2, 2], the same ones every time.
static HostTensor noise(DType dtype, std::vector<int64_t> shape,
                        unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  HostTensor tensor = llvm::cantFail(HostTensor::create(dtype, shape));
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i)
    tensor.setF64(i, uniform(random));
  return tensor;
}

/// The largest |host - f64 evaluation| over the largest |f64 evaluation|.
static double relativeError(const HostTensor &actual, const HostTensor &wide) {
  double error = 0, scale = 0;
  for (int64_t i = 0, e = wide.elements(); i < e; ++i) {
    error = std::max(error, std::fabs(actual.getF64(i) - wide.getF64(i)));
    scale = std::max(scale, std::fabs(wide.getF64(i)));
  }
  return scale > 0 ? error / scale : error;
}

/// Runs `text` on the host in all ways and compares with an evaluation in f64.
static void checkGraph(const std::string &text,
                       const std::vector<HostTensor> &inputs, double bound) {
  Graph graph(text);
  reference::EvaluateOptions wideOptions;
  wideOptions.wide = true;
  std::vector<HostTensor> wide = run(graph, inputs, wideOptions);
  auto module = graph.function()->getParentOfType<mlir::ModuleOp>();
  for (bool vectorize : {true, false})
    for (bool exact : {false, true}) {
      CompileOptions options{exact, vectorize};
      auto actual = runOnHost(module, inputs, options);
      ASSERT_TRUE(bool(actual)) << llvm::toString(actual.takeError());
      ASSERT_EQ(actual->size(), wide.size());
      for (auto [got, want] : llvm::zip(*actual, wide)) {
        ASSERT_EQ(got.elements(), want.elements());
        EXPECT_LE(relativeError(got, want), bound)
            << text << "\nvectorize " << vectorize << " exact " << exact;
      }
    }
}

static std::string fusionSoftmax(int64_t rows, int64_t columns) {
  std::string full = typeText(DType::F32, {rows, columns}),
              row = typeText(DType::F32, {rows});
  return "func.func @f(%x: " + full + ") -> " + full +
         " {\n%r = graph.fusion(%a = %x) : (" + full + ") -> " + full +
         " {\n"
         "%m = graph.reduce max %a [1] : " + full + " -> " + row +
         "\n%mb = graph.broadcast %m [0] : " + row + " -> " + full +
         "\n%d = graph.sub %a, %mb : " + full +
         "\n%e = graph.exp %d : " + full +
         "\n%s = graph.reduce sum %e [1] : " + full + " -> " + row +
         "\n%sb = graph.broadcast %s [0] : " + row + " -> " + full +
         "\n%q = graph.div %e, %sb : " + full +
         "\ngraph.yield %q : " + full + "\n}\nreturn %r : " + full + "\n}";
}

TEST(HostGraph, SoftmaxRegion) {
  // The sum of n terms in f32 and a handful of roundings: far below n ulp.
  for (int64_t rows : {0, 1, 3, 17, 64})
    for (int64_t columns : {1, 2, 31, 32, 33, 127, 1023, 1024, 1025})
      checkGraph(fusionSoftmax(rows, columns),
                 {noise(DType::F32, {rows, columns})},
                 (8 + std::sqrt(double(columns))) * 0x1p-24);
}

TEST(HostGraph, CompositesDecompose) {
  std::string type = typeText(DType::F32, {5, 77});
  for (const char *op : {"graph.softmax %0 [1]", "graph.gelu %0 erf"}) {
    Graph probe({type}, type,
                std::string(op).find("gelu") == std::string::npos
                    ? "graph.softmax %0 [1] : " + type
                    : "graph.silu %0 : " + type);
    auto module = probe.function()->getParentOfType<mlir::ModuleOp>();
    HostTensor x = noise(DType::F32, {5, 77});
    reference::EvaluateOptions wide;
    wide.wide = true;
    std::vector<HostTensor> expected = run(probe, {x}, wide);
    auto actual = runOnHost(module, {x});
    ASSERT_TRUE(bool(actual)) << llvm::toString(actual.takeError());
    EXPECT_LE(relativeError((*actual)[0], expected[0]), 16 * 0x1p-24);
  }
}

static std::string contractText(DType dtype, int64_t m, int64_t k, int64_t n,
                                bool transposed) {
  std::string a = typeText(dtype, {m, k}),
              b = typeText(dtype, transposed ? std::vector<int64_t>{n, k}
                                             : std::vector<int64_t>{k, n}),
              c = typeText(dtype, {m, n}), v = typeText(dtype, {n});
  return "func.func @f(%x: " + a + ", %y: " + b + ", %z: " + v + ") -> " + c +
         " {\n%r = graph.fusion(%a = %x, %b = %y, %c = %z) : (" + a + ", " + b +
         ", " + v + ") -> " + c + " {\n%p = graph.contract %a, %b batch [] x []" +
         " contract [1] x [" + (transposed ? "1" : "0") + "] : " + a + ", " +
         b + " -> " + c + "\n%w = graph.broadcast %c [1] : " + v + " -> " + c +
         "\n%s = graph.add %p, %w : " + c + "\n%t = graph.tanh %s : " + c +
         "\ngraph.yield %t : " + c + "\n}\nreturn %r : " + c + "\n}";
}

TEST(HostGraph, ContractWithEpilogue) {
  int64_t sizes[][3] = {{1, 1, 1},   {3, 5, 7},   {31, 33, 32}, {64, 0, 5},
                        {17, 129, 65}, {2, 1025, 31}, {40, 64, 96}};
  for (auto [m, k, n] : sizes)
    for (bool transposed : {false, true}) {
      std::vector<int64_t> b = {k, n};
      if (transposed)
        std::swap(b[0], b[1]);
      // Products up to 4 summed k times, before a tanh that shrinks errors.
      double sum = 4.0 * (k + 1) * 0x1p-24 * std::sqrt(k + 1.0);
      checkGraph(contractText(DType::F32, m, k, n, transposed),
                 {noise(DType::F32, {m, k}), noise(DType::F32, b, 2),
                  noise(DType::F32, {n}, 3)},
                 sum + 0x1p-22);
      checkGraph(contractText(DType::F16, m, k, n, transposed),
                 {noise(DType::F16, {m, k}), noise(DType::F16, b, 2),
                  noise(DType::F16, {n}, 3)},
                 sum + 0x1p-9 * std::sqrt(k + 1.0) * 4);
    }
}

TEST(HostGraph, ThreadsDoNotChangeResults) {
  Graph graph(fusionSoftmax(301, 1023));
  auto module = graph.function()->getParentOfType<mlir::ModuleOp>();
  HostTensor x = noise(DType::F32, {301, 1023});
  auto program = compileForHost(module);
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  std::vector<HostTensor> first;
  for (unsigned threads : {1, 2, 3, 8}) {
    auto results = host::test::runProgram(
        *program, {x}, runtime::createHostDevice({threads}));
    ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
    if (first.empty())
      first = *results;
    EXPECT_EQ(*first[0].bytes, *(*results)[0].bytes) << threads;
  }
}

TEST(HostGraph, EqualRegionsCompileOnce) {
  std::string type = typeText(DType::F32, {64});
  Graph graph("func.func @f(%x: " + type + ") -> " + type +
              " {\n%a = graph.tanh %x : " + type +
              "\n%b = graph.tanh %a : " + type + "\nreturn %b : " + type +
              "\n}");
  auto module = graph.function()->getParentOfType<mlir::ModuleOp>();
  auto program = compileForHost(module);
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  EXPECT_EQ(program->kernels.size(), 1u);
  EXPECT_EQ(program->steps.size(), 2u);
}

TEST(HostGraph, OutputsOfAllKinds) {
  // An input, a constant, one value twice, and a value read further.
  std::string type = typeText(DType::F32, {3});
  checkGraph("func.func @f(%x: " + type + ") -> (" + type + ", " + type + ", " +
                 type + ", " + type + ", " + type + ") {\n" +
                 "%c = graph.constant dense<[1.0, 2.0, 3.0]> : " + type +
                 "\n%r:2 = graph.fusion(%a = %x) : (" + type + ") -> (" + type +
                 ", " + type + ") {\n" +
                 "%k = graph.constant dense<[4.0, 5.0, 6.0]> : " + type +
                 "\n%s = graph.add %a, %k : " + type +
                 "\n%t = graph.mul %s, %a : " + type + "\ngraph.yield %s, %t : " +
                 type + ", " + type + "\n}\nreturn %x, %c, %r#0, %r#1, %r#0 : " +
                 type + ", " + type + ", " + type + ", " + type + ", " + type +
                 "\n}",
             {noise(DType::F32, {3})}, 4 * 0x1p-24);
}

TEST(HostGraph, DynamicShapesAreRefused) {
  Graph graph("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
              "%r = graph.abs %x : tensor<?xf32>\nreturn %r : tensor<?xf32>\n}");
  auto program =
      compileForHost(graph.function()->getParentOfType<mlir::ModuleOp>());
  ASSERT_FALSE(bool(program));
  EXPECT_EQ(llvm::toString(program.takeError()),
            "tensor 'input0': expected a static shape, found tensor<?xf32>");
}

TEST(HostDevice, RefusesBadKernels) {
  runtime::Kernel kernel;
  kernel.entry = "k";
  kernel.source = "define void @k(";
  auto module = host::test::device()->loadModule({kernel});
  ASSERT_FALSE(bool(module));
  EXPECT_NE(llvm::toString(module.takeError()).find("kernel 'k'"),
            std::string::npos);
}

TEST(HostDevice, KernelsSeeNoOtherSymbols) {
  runtime::Kernel kernel;
  kernel.entry = "k";
  kernel.source = "declare void @system(ptr)\n"
                  "define void @k(ptr %a, i64 %b, i64 %e) {\n"
                  "call void @system(ptr %a)\nret void\n}\n";
  auto module = host::test::device()->loadModule({kernel});
  ASSERT_FALSE(bool(module));
  EXPECT_NE(llvm::toString(module.takeError()).find("system"),
            std::string::npos);
}
