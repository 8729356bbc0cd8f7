//===- EpilogueDagTest.cpp - whatever stands behind a product -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Seeded element-wise graphs behind a matrix product: row and column vectors,
// scalars, tensors of full size, values used again, casts, selections, one or
// two outputs, and reductions of their rows and columns. Each must be one
// kernel; some are computed as well.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <random>

using namespace mlir;
using namespace fusec;
using namespace fusec::test;
using llvm::formatv;

namespace {

/// Writes one graph.
class DagWriter {
public:
  DagWriter(unsigned seed, int64_t m, int64_t n, int64_t k, bool isSingle,
            bool reduces = false)
      : random(seed), m(m), n(n), k(k), isSingle(isSingle), reduces(reduces) {}
  std::string write();

private:
  struct Node {
    std::string name, element;
  };

  unsigned draw(unsigned count) { return unsigned(random() % count); }
  std::string pick(std::initializer_list<const char *> names) {
    return names.begin()[draw(names.size())];
  }
  std::string element() {
    return isSingle ? "f32" : pick({"f16", "bf16", "f32"});
  }
  std::string full(llvm::StringRef element) {
    return formatv("tensor<{0}x{1}x{2}>", m, n, element);
  }
  std::string fresh() { return "%v" + std::to_string(count++); }
  void line(const std::string &text) { body += "  " + text + "\n"; }
  std::string argument(const std::string &type) {
    std::string name = fresh();
    arguments += ", " + name + ": " + type;
    return name;
  }
  std::string operand(const std::string &element);
  /// The same, but not `from`: max(x, x) is x.
  std::string other(const Node &from) {
    std::string name = operand(from.element);
    return name == from.name ? other(from) : name;
  }
  Node step(const Node &from);
  /// A reduction of the rows or columns of `from`, and at times what follows
  /// from it, of type `type`.
  std::string reduction(const Node &from, std::string &type);

  std::mt19937 random;
  int64_t m, n, k;
  bool isSingle;
  /// Reductions of rows and columns are outputs, too.
  bool reduces;
  unsigned count = 0;
  std::string arguments, body;
  std::vector<Node> nodes;
};

} // namespace

/// A value of full size: one that there is, or an input spread over it.
std::string DagWriter::operand(const std::string &element) {
  Node node;
  unsigned kind = draw(6);
  if (kind >= 4) {
    node = nodes[draw(nodes.size())];
  } else if (kind == 3) {
    node = {argument(full(element)), element};
  } else {
    node.element = draw(3) ? element : "f32";
    std::string type =
        std::array<std::string, 3>{formatv("tensor<{0}x{1}>", n, node.element),
                                   formatv("tensor<{0}x{1}>", m, node.element),
                                   formatv("tensor<{0}>", node.element)}[kind];
    std::string input = argument(type);
    node.name = fresh();
    line(formatv("{0} = graph.broadcast {1} {2} : {3} -> {4}", node.name, input,
                 std::array<const char *, 3>{"[1]", "[0]", "[]"}[kind], type,
                 full(node.element)));
  }
  if (node.element == element)
    return node.name;
  std::string name = fresh();
  line(formatv("{0} = graph.cast {1} : {2} -> {3}", name, node.name,
               full(node.element), full(element)));
  return name;
}

DagWriter::Node DagWriter::step(const Node &from) {
  std::string type = full(from.element), name = fresh();
  switch (draw(8)) {
  case 0:
  case 1:
  case 2: {
    std::string op = pick({"add", "mul", "sub", "max", "min"});
    std::string second = other(from);
    line(formatv("{0} = graph.{1} {2}, {3} : {4}", name, op, from.name, second,
                 type));
    break;
  }
  case 3: {
    std::string second = other(from);
    line(formatv("{0}c = graph.compare gt {1}, {2} : {3}", name, from.name,
                 second, type));
    line(formatv("{0} = graph.select {0}c, {1}, {2} : {3}, {4}", name,
                 from.name, second, full("i1"), type));
    break;
  }
  case 4: {
    std::string to = element();
    line(formatv("{0} = graph.cast {1} : {2} -> {3}", name, from.name, type,
                 full(to)));
    return {name, to};
  }
  case 5:
    line(formatv("{0} = graph.gelu {1} {2} : {3}", name, pick({"erf", "tanh"}),
                 from.name, type));
    break;
  default:
    line(formatv("{0} = graph.{1} {2} : {3}", name,
                 pick({"relu", "tanh", "logistic", "neg", "abs", "silu"}),
                 from.name, type));
  }
  return {name, from.element};
}

std::string DagWriter::reduction(const Node &from, std::string &type) {
  bool ofRows = draw(2);
  type = formatv("tensor<{0}x{1}>", ofRows ? m : n, from.element);
  std::string name = fresh();
  line(formatv("{0} = graph.reduce {1} {2} [{5}] : {3} -> {4}", name,
               pick({"max", "min", "sum"}), from.name, full(from.element), type,
               ofRows ? 1 : 0));
  if (draw(2)) {
    std::string next = fresh();
    line(formatv("{0} = graph.{1} {2} : {3}", next,
                 pick({"abs", "neg", "logistic"}), name, type));
    name = next;
  }
  return name;
}

std::string DagWriter::write() {
  std::string type = element();
  bool isTurned = draw(2);
  std::string a = formatv("tensor<{0}x{1}x{2}>", m, k, type);
  std::string b =
      formatv("tensor<{0}x{1}x{2}>", isTurned ? n : k, isTurned ? k : n, type);
  line(formatv("%h = graph.contract %a, %b batch [] x [] contract [1] x [{0}] "
               ": {1}, {2} -> {3}",
               int(isTurned), a, b, full(type)));
  nodes.push_back({"%h", type});
  for (unsigned steps = 2 + draw(8); steps; --steps)
    nodes.push_back(step(
        nodes[nodes.size() - 1 - draw(std::min<unsigned>(3, nodes.size()))]));
  std::vector<Node> outputs = {nodes.back()};
  if (const Node &other = nodes[draw(nodes.size())];
      draw(2) && other.name != outputs[0].name)
    outputs.push_back(other);
  std::string names, types;
  auto result = [&](const std::string &name, const std::string &type) {
    names += (names.empty() ? "" : ", ") + name;
    types += (types.empty() ? "" : ", ") + type;
  };
  for (const Node &output : outputs)
    result(output.name, full(output.element));
  for (unsigned i = 0; reduces && i <= draw(2); ++i) {
    std::string type;
    std::string name = reduction(outputs[draw(outputs.size())], type);
    result(name, type);
  }
  return formatv("func.func @f(%a: {0}, %b: {1}{2}) -> ({3}) {{\n{4}  return "
                 "{5} : {3}\n}\n",
                 a, b, arguments, types, body, names);
}

TEST(EpilogueDag, IsOneKernel) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::string text =
        DagWriter(seed, 2048, 1536, 512, /*isSingle=*/false).write();
    DialectRegistry registry;
    driver::registerDialects(registry);
    MLIRContext context(registry);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    driver::CompileOptions options;
    options.target = seed % 2 ? TargetInfo::h200() : TargetInfo::a100();
    auto compiled = driver::compile(*module, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError()) << text;
    EXPECT_EQ(compiled->program.kernels.size(), 1u) << text;
    EXPECT_EQ(compiled->program.steps.size(), 1u) << text;
  }
}

TEST(EpilogueDag, ReducesInOneKernel) {
  for (unsigned seed = 2000; seed < 2100; ++seed) {
    std::string text =
        DagWriter(seed, 2048, 1536, 512, /*isSingle=*/false, /*reduces=*/true)
            .write();
    DialectRegistry registry;
    driver::registerDialects(registry);
    MLIRContext context(registry);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    driver::CompileOptions options;
    options.target = seed % 2 ? TargetInfo::h200() : TargetInfo::a100();
    auto compiled = driver::compile(*module, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError()) << text;
    EXPECT_EQ(compiled->program.kernels.size(), 1u) << text;
  }
}

// Products of 24 terms are below 96 and GELU and the like steeper than 1.13 in
// no place, so a few of them in a row keep 1e-3 of errors of 1e-5.
TEST(EpilogueDag, IsRight) {
  for (unsigned seed = 1000; seed < 1012; ++seed)
    checkGraph(DagWriter(seed, 33, 40, 24, /*isSingle=*/true).write(),
               {{1e-4, 1e-3}, false, seed, 1});
}

// Sums of 40 such elements.
TEST(EpilogueDag, ReductionsAreRight) {
  for (unsigned seed = 3000; seed < 3010; ++seed)
    checkGraph(DagWriter(seed, 33, 40, 24, /*isSingle=*/true, /*reduces=*/true)
                   .write(),
               {{1e-4, 2e-2}, false, seed, 1});
}
