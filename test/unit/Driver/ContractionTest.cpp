//===- ContractionTest.cpp - contractions against the reference -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and convolutions with what surrounds them, through the skeleton in
// the emulator. Several hostile sizes share a graph, so that their kernels are
// compiled together.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::test;
using llvm::formatv;

namespace {

/// f32 sums of k products of f32 elements: k * 2^-24 of the magnitudes, which
/// are at most 4; f16 and bf16 results add half a unit in the last place of the
/// result, of every rounding that the unfused graph makes.
Tolerance tolerance(llvm::StringRef type, int64_t k) {
  double sum = double(k) * k * 0x1p-22;
  if (type == "f16")
    return {0x1p-10, sum + 0x1p-9};
  if (type == "bf16")
    return {0x1p-7, sum + 0x1p-5};
  return {0x1p-20, sum};
}

std::string tensor(llvm::ArrayRef<int64_t> shape, llvm::StringRef type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type.str() + ">";
}

/// A function of independent products.
class Graph {
public:
  std::string argument(std::string type) {
    args +=
        (args.empty() ? "" : ", ") + formatv("%a{0}: {1}", count, type).str();
    return formatv("%a{0}", count++).str();
  }
  std::string add(std::string op) {
    body += formatv("  %v{0} = {1}\n", values, op).str();
    return formatv("%v{0}", values++).str();
  }
  void result(std::string value, std::string type) {
    returns += (returns.empty() ? "" : ", ") + value;
    types += (types.empty() ? "" : ", ") + type;
  }
  std::string text() const {
    return "func.func @f(" + args + ") -> (" + types + ") {\n" + body +
           "  return " + returns + " : " + types + "\n}\n";
  }

private:
  std::string args, body, returns, types;
  int count = 0, values = 0;
};

struct Product {
  int64_t m, n, k, batch = 0;
  bool lhsTransposed = false, rhsTransposed = false;
};

/// Adds a product of new arguments; returns its value and type.
std::pair<std::string, std::string> addProduct(Graph &graph, const Product &p,
                                               llvm::StringRef type) {
  llvm::SmallVector<int64_t> lhs = {p.m, p.k}, rhs = {p.k, p.n},
                             result = {p.m, p.n};
  if (p.lhsTransposed)
    std::swap(lhs[0], lhs[1]);
  if (p.rhsTransposed)
    std::swap(rhs[0], rhs[1]);
  int64_t first = p.batch != 0;
  if (p.batch)
    for (auto *shape : {&lhs, &rhs, &result})
      shape->insert(shape->begin(), p.batch);
  const char *batch = p.batch ? "[0] x [0]" : "[] x []";
  std::string op = formatv(
      "graph.contract {0}, {1} batch {2} contract [{3}] x [{4}] : {5}, {6} -> "
      "{7}",
      graph.argument(tensor(lhs, type)), graph.argument(tensor(rhs, type)),
      batch, first + !p.lhsTransposed, first + p.rhsTransposed,
      tensor(lhs, type), tensor(rhs, type), tensor(result, type));
  return {graph.add(op), tensor(result, type)};
}

void checkProducts(llvm::ArrayRef<Product> products, llvm::StringRef type,
                   uint64_t seed = 1) {
  Graph graph;
  int64_t k = 1;
  for (const Product &p : products) {
    auto [value, result] = addProduct(graph, p, type);
    graph.result(value, result);
    k = std::max(k, p.k);
  }
  DifferentialOptions options;
  options.tolerance = tolerance(type, k);
  options.seed = seed;
  options.kernels = products.size();
  checkGraph(graph.text(), options);
}

TEST(Contraction, ProductsInAllOrders) {
  for (const char *type : {"f16", "bf16", "f32"}) {
    std::vector<Product> products;
    for (bool lhs : {false, true})
      for (bool rhs : {false, true}) {
        products.push_back({64, 72, 40, 0, lhs, rhs}); // groups of 8
        products.push_back({33, 31, 37, 0, lhs, rhs}); // primes
        products.push_back({16, 20, 12, 3, lhs, rhs}); // groups of 4, batches
      }
    checkProducts(products, type);
  }
}

TEST(Contraction, HostileSizes) {
  for (const char *type : {"f16", "f32"}) {
    checkProducts({{1, 1, 1},
                   {1, 33, 64},
                   {33, 1, 64},
                   {7, 100, 33},
                   {100, 7, 5},
                   {8, 8, 1},
                   {32, 32, 32},
                   {31, 129, 257},
                   {130, 65, 8}},
                  type);
    checkProducts({{0, 8, 8},
                   {8, 0, 8},
                   {9, 10, 0},
                   {1, 9, 0},
                   {16, 16, 0, 2},
                   {16, 16, 8, 1}},
                  type);
  }
}

// Fewer rows than a tile has come in boxes of their own; sums of more steps
// than the ring has slots.
TEST(Contraction, FewRowsAndManySteps) {
  for (const char *type : {"f16", "bf16"})
    checkProducts({{9, 136, 520},
                   {16, 264, 1032, 0, false, true},
                   {40, 72, 200, 3},
                   {200, 72, 584, 0, true, true}},
                  type);
}

/// Checks one function with options for sums of `k` products.
void check(const std::string &text, llvm::StringRef type, int64_t k,
           std::optional<size_t> kernels = 1) {
  DifferentialOptions options;
  options.tolerance = tolerance(type, k);
  options.kernels = kernels;
  checkGraph(text, options);
}

struct Convolution {
  bool isNhwc = false;
  // Large enough not to be a stencil.
  int64_t images = 2, channels = 32, height = 7, width = 6, outputs = 72;
  int64_t window = 3, stride = 1, dilation = 1, pad = 1, groups = 1;
};

/// Adds a convolution of new arguments, with a bias and a relu behind it.
void addConvolution(Graph &graph, const Convolution &c, llvm::StringRef type) {
  auto size = [&](int64_t in) {
    return (in + 2 * c.pad - c.dilation * (c.window - 1) - 1) / c.stride + 1;
  };
  int64_t p = size(c.height), q = size(c.width);
  int64_t perGroup = c.channels / c.groups;
  auto shape = [&](int64_t n, int64_t channel, int64_t h, int64_t w) {
    return c.isNhwc ? tensor({n, h, w, channel}, type)
                    : tensor({n, channel, h, w}, type);
  };
  std::string x = shape(c.images, c.channels, c.height, c.width);
  std::string w = shape(c.outputs, perGroup, c.window, c.window);
  std::string y = shape(c.images, c.outputs, p, q);
  const char *dims = c.isNhwc ? "[0, 3, 1, 2]" : "[0, 1, 2, 3]";
  std::string conv = graph.add(formatv(
      "graph.convolution {0}, {1} strides [{2}, {2}] dilations [{3}, "
      "{3}] low [{4}, {4}] high [{4}, {4}] dims {5} x {5} -> {5} groups "
      "= {6} : {7}, {8} -> {9}",
      graph.argument(x), graph.argument(w), c.stride, c.dilation, c.pad, dims,
      c.groups, x, w, y));
  std::string vector = tensor({c.outputs}, type);
  std::string bias =
      graph.add(formatv("graph.broadcast {0} [{1}] : {2} -> {3}",
                        graph.argument(vector), c.isNhwc ? 3 : 1, vector, y));
  std::string sum =
      graph.add(formatv("graph.add {0}, {1} : {2}", conv, bias, y));
  std::string relu = graph.add(formatv("graph.relu {0} : {1}", sum, y));
  graph.result(relu, y);
}

TEST(Contraction, Convolutions) {
  for (const char *type : {"f16", "f32"}) {
    Graph graph;
    std::vector<Convolution> list;
    for (bool isNhwc : {false, true}) {
      Convolution base;
      base.isNhwc = isNhwc;
      list.push_back(base);
      list.push_back(base), list.back().stride = 2;
      list.push_back(base), list.back().dilation = 2, list.back().pad = 2;
      list.push_back(base), list.back().groups = 2, list.back().channels = 64;
      list.push_back(base), list.back().window = 1, list.back().pad = 0;
      list.push_back(base), list.back().channels = 3, list.back().outputs = 67;
      list.push_back(base), list.back().images = 0;
    }
    for (const Convolution &c : list)
      addConvolution(graph, c, type);
    check(graph.text(), type, 32 * 9, std::nullopt);
  }
}

// gelu(relu(a) * b + bias) + residual, stored as it is and transposed.
std::string fullText(llvm::StringRef type) {
  return formatv(
      R"(func.func @f(%a: tensor<40x48x{0}>, %b: tensor<48x56x{0}>, %v: tensor<56x{0}>, %r: tensor<40x56x{0}>) -> (tensor<40x56x{0}>, tensor<56x40x{0}>) {{
    %0 = graph.relu %a : tensor<40x48x{0}>
    %1 = graph.contract %0, %b batch [] x [] contract [1] x [0] : tensor<40x48x{0}>, tensor<48x56x{0}> -> tensor<40x56x{0}>
    %2 = graph.broadcast %v [1] : tensor<56x{0}> -> tensor<40x56x{0}>
    %3 = graph.add %1, %2 : tensor<40x56x{0}>
    %5 = graph.gelu erf %3 : tensor<40x56x{0}>
    %6 = graph.add %5, %r : tensor<40x56x{0}>
    %7 = graph.transpose %5 [1, 0] : tensor<40x56x{0}> -> tensor<56x40x{0}>
    return %6, %7 : tensor<40x56x{0}>, tensor<56x40x{0}>
  })",
      type);
}

TEST(Contraction, PrologueAndEpilogueWithTwoOutputs) {
  for (const char *type : {"f16", "bf16", "f32"})
    check(fullText(type), type, 48);
}

TEST(Contraction, HeadsAreTransposedOnTheWay) {
  // [batch, seq, heads * 8] x weights -> [batch, heads, seq, 8]
  check(
      R"(func.func @f(%x: tensor<2x17x32xf16>, %w: tensor<24x32xf16>) -> tensor<2x3x17x8xf16> {
    %0 = graph.contract %x, %w batch [] x [] contract [2] x [1] : tensor<2x17x32xf16>, tensor<24x32xf16> -> tensor<2x17x24xf16>
    %1 = graph.reshape %0 : tensor<2x17x24xf16> -> tensor<2x17x3x8xf16>
    %2 = graph.transpose %1 [0, 2, 1, 3] : tensor<2x17x3x8xf16> -> tensor<2x3x17x8xf16>
    return %2 : tensor<2x3x17x8xf16>
  })",
      "f16", 32);
}

TEST(Contraction, OtherElementTypes) {
  for (const char *type : {"i32", "i8", "f64"}) {
    DifferentialOptions options;
    options.tolerance = {0x1p-40, 0x1p-40};
    Graph graph;
    auto [value, result] = addProduct(graph, {9, 10, 11}, type);
    graph.result(value, result);
    checkGraph(graph.text(), options);
  }
  check(
      R"(func.func @f(%a: tensor<16x24xf16>, %b: tensor<24x16xf32>, %c: tensor<16x24xf8E4M3FN>, %d: tensor<24x16xf16>) -> (tensor<16x16xf32>, tensor<16x16xf16>) {
    %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<16x24xf16>, tensor<24x16xf32> -> tensor<16x16xf32>
    %1 = graph.contract %c, %d batch [] x [] contract [1] x [0] : tensor<16x24xf8E4M3FN>, tensor<24x16xf16> -> tensor<16x16xf16>
    return %0, %1 : tensor<16x16xf32>, tensor<16x16xf16>
  })",
      "f16", 24, 2);
}

} // namespace
