//===- GraphTest.cpp - whole graphs on the host ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
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

/// The largest |actual - expected| over the largest |expected|.
static double relativeError(const HostTensor &actual,
                            llvm::ArrayRef<double> expected) {
  double error = 0, scale = 0;
  for (auto [i, value] : llvm::enumerate(expected)) {
    if (std::isnan(actual.getF64(i)) != std::isnan(value))
      return HUGE_VAL; // max() would drop a NaN
    error = std::max(error, std::fabs(actual.getF64(i) - value));
    scale = std::max(scale, std::fabs(value));
  }
  return scale > 0 ? error / scale : error;
}

/// Puts all ops of the function in one region.
static void fuseAll(mlir::func::FuncOp function) {
  mlir::Block &block = function.getBody().front();
  mlir::Operation *terminator = block.getTerminator();
  mlir::OpBuilder builder(terminator);
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : block.without_terminator())
    ops.push_back(&op);
  auto fusion = graph::FusionOp::create(builder, function.getLoc(),
                                        terminator->getOperandTypes(),
                                        function.getArguments());
  mlir::Block &body = fusion.getBody().emplaceBlock();
  mlir::IRMapping mapping;
  for (mlir::Value argument : function.getArguments())
    mapping.map(argument,
                body.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToStart(&body);
  for (mlir::Operation *op : ops)
    builder.clone(*op, mapping);
  std::vector<mlir::Value> yielded;
  for (mlir::Value value : terminator->getOperands())
    yielded.push_back(mapping.lookup(value));
  graph::YieldOp::create(builder, function.getLoc(), yielded);
  terminator->setOperands(fusion->getResults());
  for (mlir::Operation *op : llvm::reverse(ops))
    op->erase();
}

/// Runs `text` on the host in all ways, op by op and as one region, and
/// compares its results with `expected`.
static void checkGraph(const std::string &text,
                       const std::vector<HostTensor> &inputs,
                       const std::vector<std::vector<double>> &expected,
                       double bound) {
  Graph graph(text), fused(text);
  fuseAll(fused.function());
  for (Graph *form : {&graph, &fused})
    for (unsigned ways = 0; ways < 4; ++ways) {
      bool exact = ways & 1, vectorize = !(ways & 2);
      CompileOptions options{exact, vectorize};
      auto module = form->function()->getParentOfType<mlir::ModuleOp>();
      auto actual = runOnHost(module, inputs, options);
      ASSERT_TRUE(bool(actual)) << llvm::toString(actual.takeError());
      ASSERT_EQ(actual->size(), expected.size());
      for (auto [got, want] : llvm::zip(*actual, expected)) {
        ASSERT_EQ(got.elements(), int64_t(want.size()));
        EXPECT_LE(relativeError(got, want), bound)
            << text << "\nvectorize " << vectorize << " exact " << exact;
      }
    }
}

/// Softmax of rows in f64.
static std::vector<double> softmaxOf(const HostTensor &x) {
  int64_t rows = x.shape[0], columns = x.shape[1];
  std::vector<double> result(rows * columns);
  for (int64_t r = 0; r < rows; ++r) {
    double most = -HUGE_VAL, sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      most = std::max(most, x.getF64(r * columns + c));
    for (int64_t c = 0; c < columns; ++c)
      sum += std::exp(x.getF64(r * columns + c) - most);
    for (int64_t c = 0; c < columns; ++c)
      result[r * columns + c] =
          std::exp(x.getF64(r * columns + c) - most) / sum;
  }
  return result;
}

/// tanh(a b + bias) in f64.
static std::vector<double> denseOf(const HostTensor &a, const HostTensor &b,
                                   const HostTensor &bias, bool transposed) {
  int64_t m = a.shape[0], k = a.shape[1], n = bias.shape[0];
  std::vector<double> result;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = bias.getF64(j);
      for (int64_t l = 0; l < k; ++l)
        sum +=
            a.getF64(i * k + l) * b.getF64(transposed ? j * k + l : l * n + j);
      result.push_back(std::tanh(sum));
    }
  return result;
}

static std::string softmaxText(int64_t rows, int64_t columns) {
  std::string full = typeText(DType::F32, {rows, columns}),
              row = typeText(DType::F32, {rows});
  return "func.func @f(%a: " + full + ") -> " + full +
         " {\n%m = graph.reduce max %a [1] : " + full + " -> " + row +
         "\n%mb = graph.broadcast %m [0] : " + row + " -> " + full +
         "\n%d = graph.sub %a, %mb : " + full +
         "\n%e = graph.exp %d : " + full +
         "\n%s = graph.reduce sum %e [1] : " + full + " -> " + row +
         "\n%sb = graph.broadcast %s [0] : " + row + " -> " + full +
         "\n%q = graph.div %e, %sb : " + full + "\nreturn %q : " + full + "\n}";
}

TEST(HostGraph, SoftmaxRegion) {
  // The sum of n terms in f32 and a handful of roundings: far below n ulp.
  for (int64_t rows : {0, 1, 17})
    for (int64_t columns : {1, 31, 32, 33, 1023, 1025}) {
      HostTensor x = noise(DType::F32, {rows, columns});
      checkGraph(softmaxText(rows, columns), {x}, {softmaxOf(x)},
                 (8 + std::sqrt(double(columns))) * 0x1p-24);
    }
}

TEST(HostGraph, RunningSumsInLanes) {
  // Neighbours in memory follow each other along the sum, so that lanes are
  // parts of it; they merge in f64, up to the largest f32.
  int64_t rows = 40, columns = 67;
  std::string in = typeText(DType::F32, {rows, columns}),
              out = typeText(DType::F32, {columns, rows});
  HostTensor x = noise(DType::F32, {rows, columns});
  std::vector<double> expected(rows * columns);
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      expected[c * rows + r] = sum += x.getF64(r * columns + c);
  }
  std::string text = "func.func @f(%a: " + in + ") -> " + out +
                     " {\n%t = graph.transpose %a [1, 0] : " + in + " -> " +
                     out +
                     "\n%s = graph.cumulative sum %t dimension = 0 : " + out +
                     "\nreturn %s : " + out + "\n}";
  checkGraph(text, {x}, {expected}, 0x1p-24);
  // What has no code as one kernel would be two.
  Graph graph(text);
  fuseAll(graph.function());
  auto program =
      compileForHost(graph.function()->getParentOfType<mlir::ModuleOp>());
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  ASSERT_EQ(program->kernels.size(), 1u);
  EXPECT_NE(program->kernels[0].source.find("extractelement <2 x double>"),
            std::string::npos);
}

TEST(HostGraph, CompositesDecompose) {
  std::string type = typeText(DType::F32, {5, 77});
  HostTensor x = noise(DType::F32, {5, 77});
  checkGraph("func.func @f(%a: " + type + ") -> " + type +
                 " {\n%r = graph.softmax %a [1] : " + type +
                 "\nreturn %r : " + type + "\n}",
             {x}, {softmaxOf(x)}, 17 * 0x1p-24);
}

static std::string contractText(DType dtype, int64_t m, int64_t k, int64_t n,
                                bool transposed) {
  std::string a = typeText(dtype, {m, k}),
              b = typeText(dtype, transposed ? std::vector<int64_t>{n, k}
                                             : std::vector<int64_t>{k, n}),
              c = typeText(dtype, {m, n}), v = typeText(dtype, {n});
  return "func.func @f(%a: " + a + ", %b: " + b + ", %c: " + v + ") -> " + c +
         " {\n%p = graph.contract %a, %b batch [] x []" + " contract [1] x [" +
         (transposed ? "1" : "0") + "] : " + a + ", " + b + " -> " + c +
         "\n%w = graph.broadcast %c [1] : " + v + " -> " + c +
         "\n%s = graph.add %p, %w : " + c + "\n%t = graph.tanh %s : " + c +
         "\nreturn %t : " + c + "\n}";
}

TEST(HostGraph, ContractWithEpilogue) {
  int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7},     {31, 33, 32}, {64, 0, 5},
                        {17, 129, 65}, {2, 1025, 31}, {40, 64, 96}};
  for (auto [m, k, n] : sizes)
    for (bool transposed : {false, true}) {
      std::vector<int64_t> b = {k, n};
      if (transposed)
        std::swap(b[0], b[1]);
      // Products up to 4 summed k times, before a tanh that shrinks errors.
      double sum = 4.0 * (k + 1) * 0x1p-24 * std::sqrt(k + 1.0);
      for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        HostTensor x = noise(dtype, {m, k}), y = noise(dtype, b, 2),
                   z = noise(dtype, {n}, 3);
        // Exact mode rounds the sum, of up to 4 sqrt(k), to the type.
        double unit = std::ldexp(1.0, -int(precisionBits(dtype)));
        checkGraph(contractText(dtype, m, k, n, transposed), {x, y, z},
                   {denseOf(x, y, z, transposed)},
                   sum + 8 * unit * std::sqrt(k + 1.0));
      }
    }
}

TEST(HostGraph, LanesReadNeighbours) {
  // Vector code without scattered reads, whichever way a sum runs.
  std::string column = typeText(DType::F32, {96}),
              full = typeText(DType::F32, {64, 96});
  for (const std::string &text :
       {contractText(DType::F32, 40, 64, 96, false),
        contractText(DType::F32, 40, 64, 96, true), softmaxText(40, 96),
        "func.func @f(%x: " + full + ") -> " + column +
            " {\n%r = graph.reduce sum %x [0] : " + full + " -> " + column +
            "\nreturn %r : " + column + "\n}"}) {
    Graph graph(text);
    if (text.find("contract") != std::string::npos ||
        text.find("exp") != std::string::npos)
      fuseAll(graph.function());
    auto program =
        compileForHost(graph.function()->getParentOfType<mlir::ModuleOp>());
    ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
    ASSERT_EQ(program->kernels.size(), 1u) << text;
    const std::string &source = program->kernels[0].source;
    EXPECT_EQ(source.find("masked.gather"), std::string::npos) << text;
    // Blocks of elements have fewer lanes each.
    EXPECT_TRUE(source.find("load <32 x float>") != std::string::npos ||
                source.find("load <16 x float>") != std::string::npos)
        << text;
  }
}

namespace {
/// A square NCHW convolution of one image with stride, padding before and after
/// and groups, then bias-free relu.
struct Conv {
  int64_t channels, size, outputs, window, stride, low, high, groups;

  int64_t resultSize() const {
    return (size + low + high - window) / stride + 1;
  }
  std::vector<int64_t> inputShape() const { return {1, channels, size, size}; }
  std::vector<int64_t> kernelShape() const {
    return {outputs, channels / groups, window, window};
  }
  std::string text() const;
  std::vector<double> expected(const HostTensor &x, const HostTensor &w) const;
};
} // namespace

std::string Conv::text() const {
  std::string x = typeText(DType::F32, inputShape()),
              w = typeText(DType::F32, kernelShape()),
              y = typeText(DType::F32,
                           {1, outputs, resultSize(), resultSize()});
  auto pair = [](int64_t a) {
    return "[" + std::to_string(a) + ", " + std::to_string(a) + "]";
  };
  return "func.func @f(%x: " + x + ", %w: " + w + ") -> " + y +
         " {\n%c = graph.convolution %x, %w strides " + pair(stride) +
         " dilations [1, 1] low " + pair(low) + " high " + pair(high) +
         " dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = " +
         std::to_string(groups) + " : " + x + ", " + w + " -> " + y +
         "\n%r = graph.relu %c : " + y + "\nreturn %r : " + y + "\n}";
}

std::vector<double> Conv::expected(const HostTensor &x,
                                   const HostTensor &w) const {
  std::vector<double> result;
  int64_t inGroup = channels / groups, n = resultSize();
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t at = 0; at < n * n; ++at) {
      double sum = 0;
      for (int64_t c = 0; c < inGroup; ++c)
        for (int64_t tap = 0; tap < window * window; ++tap) {
          int64_t row = at / n * stride + tap / window - low,
                  column = at % n * stride + tap % window - low,
                  channel = o / (outputs / groups) * inGroup + c;
          if (row >= 0 && row < size && column >= 0 && column < size)
            sum += x.getF64((channel * size + row) * size + column) *
                   w.getF64((o * inGroup + c) * window * window + tap);
        }
      result.push_back(std::max(sum, 0.0));
    }
  return result;
}

TEST(HostGraph, BlockedConvolutions) {
  // Channels in whole blocks, in none, and with some left; strides to 5; lines
  // of all lengths; padding of one side.
  for (const Conv &conv :
       {Conv{24, 32, 24, 1, 1, 0, 0, 1}, Conv{3, 33, 13, 5, 2, 1, 2, 1},
        Conv{8, 17, 7, 3, 1, 1, 1, 1}, Conv{12, 40, 12, 3, 1, 1, 1, 12},
        Conv{14, 35, 14, 3, 2, 0, 1, 7}, Conv{1, 101, 1, 3, 3, 1, 1, 1},
        Conv{2, 180, 5, 4, 4, 2, 0, 1}, Conv{2, 180, 5, 2, 5, 0, 3, 1},
        Conv{5, 1, 11, 1, 1, 0, 0, 1}, Conv{1, 2, 1, 2, 1, 0, 0, 1}}) {
    HostTensor x = noise(DType::F32, conv.inputShape(), 1),
               w = noise(DType::F32, conv.kernelShape(), 2);
    checkGraph(conv.text(), {x, w}, {conv.expected(x, w)}, 1e-6);
  }
}

TEST(HostGraph, ConvolutionsShareWhatTheyRead) {
  // One loop for six channels; no checks for padding in it, no gathers.
  Graph graph(Conv{24, 32, 24, 3, 2, 1, 1, 1}.text());
  fuseAll(graph.function());
  auto program =
      compileForHost(graph.function()->getParentOfType<mlir::ModuleOp>());
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  ASSERT_EQ(program->kernels.size(), 2u) << "padding, sums";
  llvm::StringRef source = program->kernels[1].source;
  EXPECT_GE(source.count("call <16 x float> @llvm.fma"), 6u);
  EXPECT_EQ(source.count("masked."), 0u);
}

TEST(HostGraph, ThreadsDoNotChangeResults) {
  Graph graph(softmaxText(301, 1023));
  fuseAll(graph.function());
  auto module = graph.function()->getParentOfType<mlir::ModuleOp>();
  HostTensor x = noise(DType::F32, {301, 1023});
  auto program = compileForHost(module);
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  std::vector<HostTensor> first;
  for (unsigned threads : {1, 2, 3, 8}) {
    auto results = host::test::runProgram(*program, {x},
                                          runtime::createHostDevice({threads}));
    ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
    if (first.empty())
      first = *results;
    EXPECT_EQ(*first[0].bytes, *(*results)[0].bytes) << threads;
  }
}

TEST(HostGraph, EqualRegionsCompileOnce) {
  std::string type = typeText(DType::F32, {64});
  Graph graph("func.func @f(%x: " + type + ") -> " + type +
              " {\n%a = graph.tanh %x : " + type + "\n%b = graph.tanh %a : " +
              type + "\nreturn %b : " + type + "\n}");
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
                 "\n%k = graph.constant dense<4.0> : " + type +
                 "\n%s = graph.add %x, %c : " + type +
                 "\n%t = graph.mul %s, %k : " + type +
                 "\nreturn %x, %c, %s, %t, %s : " + type + ", " + type + ", " +
                 type + ", " + type + ", " + type + "\n}",
             {reals(DType::F32, {3}, {0.5, 1, 2})},
             {{0.5, 1, 2}, {1, 2, 3}, {1.5, 3, 5}, {6, 12, 20}, {1.5, 3, 5}},
             0);
}

// Each output is made from outputs of the same loop nest, of a later one and of
// an earlier one: none may read another's buffer before it is written.
TEST(HostGraph, OutputsReadOutputs) {
  std::string text = R"(
  func.func @f(%x: tensor<5x7xf32>, %w: tensor<7x7xf32>)
      -> (tensor<5x7xf32>, tensor<5xf32>, tensor<5x7xf32>, tensor<7x5xf32>) {
    %p = graph.contract %x, %w batch [] x [] contract [1] x [0]
        : tensor<5x7xf32>, tensor<7x7xf32> -> tensor<5x7xf32>
    %s = graph.reduce sum %p [1] : tensor<5x7xf32> -> tensor<5xf32>
    %b = graph.broadcast %s [0] : tensor<5xf32> -> tensor<5x7xf32>
    %z = graph.mul %p, %b : tensor<5x7xf32>
    %t = graph.transpose %z [1, 0] : tensor<5x7xf32> -> tensor<7x5xf32>
    return %z, %s, %p, %t : tensor<5x7xf32>, tensor<5xf32>, tensor<5x7xf32>, tensor<7x5xf32>
  })";
  HostTensor x = noise(DType::F32, {5, 7}, 1), w = noise(DType::F32, {7, 7}, 2);
  std::vector<double> p(35), s(5), z(35), t(35);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j) {
      for (int k = 0; k < 7; ++k)
        p[i * 7 + j] += x.getF64(i * 7 + k) * w.getF64(k * 7 + j);
      s[i] += p[i * 7 + j];
    }
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j)
      t[j * 5 + i] = z[i * 7 + j] = p[i * 7 + j] * s[i];
  checkGraph(text, {x, w}, {z, s, p, t}, 1e-5);
}

TEST(HostGraph, EvaluatorRunsControlFlow) {
  // Doubles %x while %n > 0; reads a value from above.
  Graph graph(R"(
func.func @f(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %one = graph.constant dense<1> : tensor<i32>
  %y = graph.add %x, %x : tensor<2xf32>
  %r:2 = graph.while (%n, %y) max_trips = 9 : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {
  ^bb0(%i: tensor<i32>, %v: tensor<2xf32>):
    %more = graph.compare ge %i, %one : tensor<i32>
    graph.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %v: tensor<2xf32>):
    %next = graph.sub %i, %one : tensor<i32>
    %twice = graph.add %v, %v : tensor<2xf32>
    graph.yield %next, %twice : tensor<i32>, tensor<2xf32>
  }
  %z = graph.neg %r#1 : tensor<2xf32>
  return %z : tensor<2xf32>
})");
  std::optional<runtime::Program> program;
  {
    auto module = graph.function()->getParentOfType<mlir::ModuleOp>();
    auto compiled = compileForHost(module);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    program = std::move(*compiled);
  }
  auto results = host::test::runProgram(
      std::move(*program),
      {wholes(DType::I32, {}, {3}), reals(DType::F32, {2}, {1, -0.5})});
  ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(asReals((*results)[0]), (std::vector<double>{-16, 8}));
}

TEST(HostGraph, LongSearchesAreEvaluated) {
  std::string type = typeText(DType::I32, {2000});
  Graph graph({type}, type, "graph.cumulative sum %0 dimension = 0 : " + type);
  HostTensor ones = wholes(DType::I32, {2000}, std::vector<int64_t>(2000, 1));
  auto results =
      runOnHost(graph.function()->getParentOfType<mlir::ModuleOp>(), {ones});
  ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
  EXPECT_EQ((*results)[0].getI64(0), 1);
  EXPECT_EQ((*results)[0].getI64(1999), 2000);
}

TEST(HostGraph, DynamicShapesAreRefused) {
  Graph graph(
      "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
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
