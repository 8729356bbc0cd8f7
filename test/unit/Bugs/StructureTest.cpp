//===- StructureTest.cpp - bug reports that take more than a few lines ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated graphs, hostile names, scale. Tests bear the ID of test/bugs's
// index. Time limits only catch what never ends.
//===----------------------------------------------------------------------===//
#include "../Frontend/OnnxWriter.h"
#include "BugRun.h"

#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Session/Build.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

#include <chrono>
#include <random>

using namespace fusec;
using namespace fusec::bugs;
using namespace fusec::test;

namespace {

constexpr int kFloat = 1, kInt64 = 7, kBool = 9;

llvm::Expected<session::Model> import(const std::string &bytes) {
  auto file = onnx::parseModel(llvm::MemoryBuffer::getMemBufferCopy(bytes));
  if (!file)
    return file.takeError();
  return session::importModel(*file, {}, "bug");
}

/// A graph from x: f32[shape] to the named outputs.
GraphSpec graphOf(std::vector<Proto> nodes,
                  const std::vector<std::string> &outputs,
                  const std::vector<int64_t> &shape = {4, 4}) {
  GraphSpec graph;
  graph.nodes = std::move(nodes);
  graph.inputs = {valueInfo("x", kFloat, shape)};
  for (const std::string &output : outputs)
    graph.outputs.push_back(Proto().text(1, output));
  return graph;
}

/// Compiles for a GPU and, if asked for, for the host within `limit` seconds.
/// The former is returned.
runtime::Program compileInTime(const std::string &bytes, double limit,
                               bool alsoHost = true) {
  auto start = std::chrono::steady_clock::now();
  runtime::Program result;
  for (bool host : {true, false}) {
    if (host && !alsoHost)
      continue;
    llvm::Expected<session::Model> model = import(bytes);
    if (!model) {
      ADD_FAILURE() << llvm::toString(model.takeError());
      return result;
    }
    auto compiled = host ? session::compileForHost(*model, {})
                         : session::compileModel(*model, {}, {});
    if (!compiled)
      ADD_FAILURE() << llvm::toString(compiled.takeError());
    else
      result = std::move(compiled->compilation.program);
  }
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  EXPECT_LT(spent.count(), limit);
  return result;
}

//===----------------------------------------------------------------------===//
// Random graphs
//===----------------------------------------------------------------------===//

/// A graph of `count` values of f32[4,4] whose last one depends on many others.
/// About a third of its ops fuse with nothing.
BugCase randomGraph(unsigned seed, unsigned count) {
  std::mt19937 random(seed);
  auto pick = [&](size_t n) { return size_t(random() % n); };
  std::vector<Proto> nodes;
  std::vector<std::string> names = {"x", "w"};
  auto operand = [&] {
    // Mostly recent values: long chains with skips.
    size_t back = std::min(names.size(), 1 + pick(pick(4) ? 4 : 40));
    return names[names.size() - back];
  };
  static const char *const kUnary[] = {"Tanh", "Relu", "Sigmoid", "Neg",
                                       "Abs",  "Erf",  "Identity"};
  static const char *const kBinary[] = {"Add", "Sub", "Mul", "Max", "Min"};
  GraphSpec graph;
  graph.initializers = {
      rawTensor<int64_t>({}, kInt64, {1}, "axis"),
      rawTensor<int64_t>({1}, kInt64, {1}, "axes"),
      rawTensor<int64_t>({4}, kInt64, {3, 0, -1, 2}, "order"),
      rawTensor<int64_t>({2}, kInt64, {2, 8}, "flat"),
      rawTensor<int64_t>({2}, kInt64, {4, 4}, "square"),
      rawTensor<float>({}, kFloat, {0.25f}, "quarter"),
  };
  for (unsigned i = 0; i < count; ++i) {
    std::string name = "v" + std::to_string(i), part = "p" + std::to_string(i);
    std::string a = operand(), b = operand();
    auto add = [&](const char *op, std::vector<std::string> inputs,
                   const std::string &output, std::vector<Proto> attributes) {
      nodes.push_back(node(op, inputs, {output}, attributes));
    };
    switch (pick(12)) {
    case 0:
    case 1:
    case 2:
      add(kUnary[pick(std::size(kUnary))], {a}, name, {});
      break;
    case 3:
    case 4:
    case 5:
      add(kBinary[pick(std::size(kBinary))], {a, b}, name, {});
      break;
    case 6: // row sums, broadcast again
      add("ReduceMean", {a, "axes"}, part, {intAttr("keepdims", 1)});
      add("Sub", {b, part}, name, {});
      break;
    case 7:
      add("Softmax", {a}, name, {intAttr("axis", int64_t(pick(2)))});
      break;
    case 8:
      add("MatMul", {a, b}, part, {});
      add("Mul", {part, "quarter"}, name, {});
      break;
    case 9:
      add("CumSum", {a, "axis"}, part, {});
      add("Tanh", {part}, name, {});
      break;
    case 10:
      pick(2) ? add("Transpose", {a}, name, {intsAttr("perm", {1, 0})})
              : add("Gather", {a, "order"}, name, {intAttr("axis", 0)});
      break;
    default:
      add("Reshape", {a, "flat"}, part, {});
      add("Tanh", {part}, part + "t", {});
      add("Reshape", {part + "t", "square"}, name, {});
      names.push_back(a);
    }
    names.push_back(name);
  }
  graph.nodes = nodes;
  graph.inputs = {valueInfo("x", kFloat, {4, 4}),
                  valueInfo("w", kFloat, {4, 4})};
  BugCase bug;
  bug.id = "random graph";
  bug.variant = std::to_string(seed);
  bug.relative = bug.absolute = 2e-4;
  bug.first = true;
  bug.fold = bug.emulator = false;
  // Two outputs, then every value, in reverse.
  GraphSpec exposed = graph;
  for (unsigned i : {count - 1, count / 2}) {
    bug.outputs.push_back({"v" + std::to_string(i), std::nullopt});
    graph.outputs.push_back(Proto().text(1, "v" + std::to_string(i)));
  }
  for (unsigned i = count; i-- > 0;)
    exposed.outputs.push_back(Proto().text(1, "v" + std::to_string(i)));
  bug.bytes = model(graph.proto()).bytes;
  bug.exposedBytes = model(exposed.proto()).bytes;
  for (const char *name : {"x", "w"}) {
    HostTensor tensor = llvm::cantFail(HostTensor::create(DType::F32, {4, 4}));
    for (int64_t i = 0; i < 16; ++i)
      tensor.setF64(i, double(random() % 4001) / 1000 - 2);
    bug.inputs.emplace_back(name, std::move(tensor));
  }
  return bug;
}

// Cycles through values that are outputs too, and through what is not fused;
// outputs added or reordered change no other.
TEST(BugStructure, F19) {
  for (unsigned seed = 1; seed <= 12 && !HasFailure(); ++seed)
    checkBug(randomGraph(seed, seed % 3 ? 30 : 200));
}

TEST(BugStructure, F17InTheEmulator) {
  for (unsigned seed = 101; seed <= 104 && !HasFailure(); ++seed) {
    BugCase bug = randomGraph(seed, 16);
    bug.emulator = true;
    checkBug(bug);
  }
}

//===----------------------------------------------------------------------===//
// Scale
//===----------------------------------------------------------------------===//

// 13 000 ops that fuse with nothing.
TEST(BugStructure, H3) {
  constexpr int kCount = 13000;
  std::vector<Proto> nodes;
  for (int i = 0; i < kCount; ++i)
    nodes.push_back(node("CumSum", {i ? "v" + std::to_string(i) : "x", "axis"},
                         {"v" + std::to_string(i + 1)}));
  GraphSpec graph = graphOf(nodes, {"v" + std::to_string(kCount)});
  graph.initializers = {rawTensor<int64_t>({}, kInt64, {1}, "axis")};
  runtime::Program program =
      compileInTime(model(graph.proto()).bytes, 200, false);
  EXPECT_EQ(program.steps.size(), size_t(kCount));
  EXPECT_EQ(program.kernels.size(), 1u);
}

// Branches in branches: each is walked once.
TEST(BugStructure, H4) {
  constexpr int kDepth = 20;
  GraphSpec inner;
  inner.nodes = {node("Relu", {"x"}, {"r"})};
  inner.outputs = {valueInfo("r", kFloat, {4, 4})};
  Proto branch = inner.proto();
  for (int i = 0; i < kDepth; ++i) {
    std::string out = "y" + std::to_string(i);
    GraphSpec other;
    other.nodes = {node("Neg", {"x"}, {"n" + out})};
    other.outputs = {valueInfo("n" + out, kFloat, {4, 4})};
    GraphSpec outer;
    outer.nodes = {node("If", {"c"}, {out},
                        {graphAttr("then_branch", branch),
                         graphAttr("else_branch", other.proto())})};
    outer.outputs = {valueInfo(out, kFloat, {4, 4})};
    branch = outer.proto();
  }
  GraphSpec graph = graphOf({node("If", {"c"}, {"y"},
                                  {graphAttr("then_branch", branch),
                                   graphAttr("else_branch", inner.proto())})},
                            {"y"});
  graph.inputs.push_back(valueInfo("c", kBool, {}));
  compileInTime(model(graph.proto()).bytes, 20);
}

// 60 diamonds y = x + x have 2^60 paths.
TEST(BugStructure, H6) {
  for (bool transposed : {false, true}) {
    std::vector<Proto> nodes;
    for (int i = 0; i < 60; ++i) {
      std::string from = i ? "v" + std::to_string(i) : "x";
      std::string to = "v" + std::to_string(i + 1);
      if (transposed) {
        nodes.push_back(node("Transpose", {from}, {"t" + to}));
        nodes.push_back(node("Add", {from, "t" + to}, {to}));
      } else {
        nodes.push_back(node("Add", {from, from}, {to}));
      }
    }
    compileInTime(model(graphOf(nodes, {"v60"}).proto()).bytes, 30);
  }
}

// Constants of unknown use are folded where they are small, and left where
// they are not.
TEST(BugStructure, H8) {
  std::vector<Proto> nodes = {
      node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"d"}),
      node("Concat", {"d", "minus"}, {"t"}, {intAttr("axis", 0)}),
      node("Reshape", {"x", "t"}, {"y"})};
  GraphSpec graph = graphOf(nodes, {"y"});
  graph.initializers = {rawTensor<int64_t>({1}, kInt64, {0}, "zero"),
                        rawTensor<int64_t>({1}, kInt64, {-1}, "minus")};
  llvm::Expected<session::Model> small = import(model(graph.proto()).bytes);
  ASSERT_TRUE(bool(small)) << llvm::toString(small.takeError());
  EXPECT_EQ(small->outputs[0].shape, (std::vector<int64_t>{4, 4}));
}

// Folding with data that cannot be read is an error, not garbage.
TEST(BugStructure, H9) {
  Proto external = tensorProto({2}, kInt64, "shape");
  external.message(13, Proto().text(1, "location").text(2, "absent.bin"));
  external.integer(14, 1);
  GraphSpec graph = graphOf({node("Reshape", {"x", "shape"}, {"y"})}, {"y"});
  graph.initializers = {external};
  llvm::Expected<session::Model> found = import(model(graph.proto()).bytes);
  ASSERT_FALSE(bool(found));
  EXPECT_NE(llvm::toString(found.takeError()).find("shape"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::vector<std::string> hostileNames() {
  return {"layer1.weight",
          "1234",
          "output0",
          "a-b",
          "a:0",
          "a/b",
          "int",
          "float4",
          "blockIdx",
          "NAN",
          "__restrict__",
          "main",
          "a__b",
          "a/_b",
          "é",
          "变量",
          "\xf0\x9f\x94\xa5",
          " ",
          "x\";__asm__(\"",
          "*/",
          "\n#include \"/etc/passwd\"",
          "threadIdx",
          "__global__",
          "\xe2\x80\xae"
          "rtl",
          "\x1b[2J",
          "\xff\xfe",
          "%arg0",
          "\\",
          "\"",
          "?\?/",
          std::string(60000, 'n')};
}

/// One Relu and one row sum for each pair of names.
Proto namedGraph(const std::vector<std::string> &names) {
  GraphSpec graph;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string in = names[i], out = names[i] + "_out";
    graph.inputs.push_back(valueInfo(in, kFloat, {2, 3}));
    Proto relu = node("Relu", {in}, {in + "_mid"});
    graph.nodes.push_back(relu.text(3, in));
    graph.nodes.push_back(
        node("Softmax", {in + "_mid"}, {out}, {intAttr("axis", 1)}));
    graph.outputs.push_back(Proto().text(1, out));
  }
  return model(graph.proto());
}

// Names reach no text, and come back unchanged.
TEST(BugStructure, I1) {
  std::vector<std::string> names = hostileNames();
  llvm::Expected<session::Model> model = import(namedGraph(names).bytes);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  auto compiled = session::compileModel(*model, {}, {});
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  const runtime::Program &program = compiled->compilation.program;
  ASSERT_EQ(program.inputs.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(program.inputs[i].name, names[i]);
    EXPECT_EQ(program.outputs[i].name, names[i] + "_out");
  }
  for (const runtime::Kernel &kernel : program.kernels)
    for (const char *text : {"layer1", "1234", "a__b", "asm", "passwd", "rtl",
                             "nnnnnn", "\xff", "_mid", "_out", "\x1b", "?\?/"})
      EXPECT_EQ(kernel.source.find(text), std::string::npos) << text;
}

// Text with such names is a fixed point of printing and parsing.
TEST(BugStructure, I2) {
  llvm::Expected<session::Model> model =
      import(namedGraph(hostileNames()).bytes);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  auto print = [](session::Model &m) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    mlir::OpPrintingFlags flags;
    m.module->print(stream, flags.enableDebugInfo());
    return text;
  };
  std::string first = print(*model);
  llvm::Expected<session::Model> again = session::parseModel(first, "again");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(print(*again), first);
  ASSERT_EQ(again->inputs.size(), model->inputs.size());
  for (size_t i = 0; i < model->inputs.size(); ++i)
    EXPECT_EQ(again->inputs[i].name, model->inputs[i].name);
}

//===----------------------------------------------------------------------===//
// Large tensors
//===----------------------------------------------------------------------===//

// Offsets of 2^31 and more, in bytes and in elements, are computed in 64 bits.
TEST(BugStructure, E13) {
  GraphSpec graph;
  // Elements below 2^31, their bytes not; then elements beyond.
  for (int64_t rows : {int64_t(700000), int64_t(3000000)}) {
    graph = {};
    graph.inputs = {valueInfo("x", kFloat, {rows, 1000})};
    graph.initializers = {rawTensor<int64_t>({1}, kInt64, {rows - 10}, "from"),
                          rawTensor<int64_t>({1}, kInt64, {rows}, "to"),
                          rawTensor<float>({}, kFloat, {1}, "one")};
    graph.nodes = {node("Slice", {"x", "from", "to"}, {"s"}),
                   node("Add", {"s", "one"}, {"y"})};
    graph.outputs = {Proto().text(1, "y")};
    runtime::Program program = compileInTime(model(graph.proto()).bytes, 20);
    ASSERT_EQ(program.kernels.size(), 1u);
    std::string offset = std::to_string((rows - 10) * 1000);
    EXPECT_NE(program.kernels[0].source.find(offset), std::string::npos)
        << program.kernels[0].source;
    if (rows > 2147483) {
      EXPECT_NE(program.kernels[0].source.find("i64"), std::string::npos)
          << program.kernels[0].source;
    }
  }
}

} // namespace
