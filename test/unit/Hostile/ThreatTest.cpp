//===- ThreatTest.cpp - the threat model, one test a threat ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/verification.md says what T1 to T15 are and which other tests have more
// of each.
//===----------------------------------------------------------------------===//
#include "../Frontend/OnnxWriter.h"

#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Frontend/Onnx/TensorData.h"
#include "fusec/Runtime/Cuda/DiskCache.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Session/Build.h"
#include "fusec/Session/Target.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstring>
#include <sys/stat.h>

using namespace fusec;
using namespace fusec::test;
using session::TargetKind;

namespace {

constexpr int kFloat = 1, kInt64 = 7;

GraphSpec graphOf(std::vector<Proto> nodes,
                  std::vector<Proto> initializers = {},
                  std::vector<int64_t> shape = {2, 3}) {
  GraphSpec graph;
  graph.nodes = std::move(nodes);
  graph.initializers = std::move(initializers);
  graph.inputs = {valueInfo("x", kFloat, shape)};
  graph.outputs = {Proto().text(1, "y")};
  return graph;
}

Proto integers(const char *name, std::vector<int64_t> values) {
  return rawTensor<int64_t>({int64_t(values.size())}, kInt64, values, name);
}

llvm::Expected<session::Model> import(const GraphSpec &graph) {
  auto file = onnx::parseModel(
      llvm::MemoryBuffer::getMemBufferCopy(model(graph.proto()).bytes));
  if (!file)
    return file.takeError();
  return session::importModel(*file, {}, "threat");
}

/// The class of the refusal, or nothing if the graph is taken.
std::optional<session::ErrorClass> refusal(const GraphSpec &graph) {
  auto found = import(graph);
  if (found)
    return std::nullopt;
  session::ErrorClass kind = session::ErrorClass::Failed;
  llvm::handleAllErrors(
      found.takeError(),
      [&](const session::SessionError &error) { kind = error.kind; },
      [&](const llvm::ErrorInfoBase &) {
        kind = session::ErrorClass::InvalidArgument;
      });
  return kind;
}

llvm::Expected<runtime::Program> compileFor(TargetKind target,
                                            const GraphSpec &graph) {
  auto model = import(graph);
  if (!model)
    return model.takeError();
  auto compiled = target == TargetKind::Host
                      ? session::compileForHost(*model, {})
                      : session::compileModel(*model, {}, {});
  if (!compiled)
    return compiled.takeError();
  return std::move(compiled->compilation.program);
}

class Timer {
public:
  explicit Timer(double limit) : limit(limit) {}
  ~Timer() {
    std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(spent.count(), limit);
  }

private:
  double limit;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

// Malformed protobuf: cut at every byte, and with every wire type.
TEST(Threat, T1) {
  std::string good =
      model(graphOf({node("Softmax", {"x"}, {"y"}, {intAttr("axis", 1)})},
                    {rawTensor<float>({2}, kFloat, {1, 2}, "b")})
                .proto())
          .bytes;
  for (size_t n = 0; n < good.size(); ++n) {
    std::string cut = good.substr(0, n);
    for (int wire = -1; wire < 8; ++wire) {
      std::string bytes = good;
      bytes[n] = static_cast<char>((bytes[n] & ~7) | wire);
      auto file = onnx::parseModel(
          llvm::MemoryBuffer::getMemBufferCopy(wire < 0 ? cut : bytes));
      if (!file)
        llvm::consumeError(file.takeError());
    }
  }
}

// External data that leave the folder or are no file.
TEST(Threat, T2) {
  llvm::SmallString<128> base;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fusec-threat", base));
  std::string folder = base.str().str() + "/model";
  ASSERT_FALSE(llvm::sys::fs::create_directory(folder));
  std::error_code code;
  llvm::raw_fd_ostream(base.str().str() + "/secret", code) << "secret";
  llvm::raw_fd_ostream(folder + "/data", code) << "data";
  ASSERT_FALSE(llvm::sys::fs::create_link("../secret", folder + "/link"));
  ASSERT_FALSE(llvm::sys::fs::create_link("..", folder + "/up"));
  ASSERT_FALSE(llvm::sys::fs::create_link("/dev/zero", folder + "/zero"));
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  ASSERT_FALSE(
      llvm::sys::fs::create_hard_link(folder + "/data", folder + "/twin"));
  for (std::string location :
       {std::string("../secret"), std::string("/etc/passwd"),
        std::string("a/../../secret"), std::string("..\\secret"), std::string(),
        std::string("."), std::string("data\0x", 6), std::string("link"),
        std::string("up/secret"), std::string("zero"), std::string("pipe"),
        std::string("twin")}) {
    auto found =
        onnx::readExternalData(folder, location, 0, std::nullopt, 1 << 20);
    EXPECT_FALSE(bool(found)) << location;
    if (!found)
      llvm::consumeError(found.takeError());
  }
  llvm::sys::fs::remove_directories(base);
}

// Sizes that are negative, zero, or whose product wraps.
TEST(Threat, T3) {
  int64_t big = int64_t(1) << 32, huge = int64_t(1) << 62;
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{big, big}, {huge, 2, 2}, {huge, huge, 0}}) {
    EXPECT_EQ(refusal(graphOf({node("Relu", {"x"}, {"y"})}, {}, shape)),
              session::ErrorClass::InvalidArgument);
    EXPECT_TRUE(refusal(
        graphOf({node("Expand", {"x", "s"}, {"y"})}, {integers("s", shape)})));
    EXPECT_TRUE(refusal(graphOf({node("ConstantOfShape", {"s"}, {"y"})},
                                {integers("s", shape)})));
    GraphSpec constant = graphOf({node("Add", {"x", "c"}, {"y"})});
    constant.initializers = {tensorProto(shape, kFloat, "c").text(9, "")};
    EXPECT_TRUE(refusal(constant));
  }
  EXPECT_TRUE(refusal(
      graphOf({node("ConstantOfShape", {"s"}, {"y"})}, {integers("s", {-1})})));
  std::vector<int64_t> manyDims(100000, 1);
  EXPECT_TRUE(refusal(graphOf({node("Relu", {"x"}, {"y"})}, {}, manyDims)));
}

// Small files that ask for large tensors: nothing is made at import.
TEST(Threat, T4) {
  Timer timer(200);
  int64_t tera = int64_t(1) << 40;
  EXPECT_TRUE(refusal(graphOf({node("ConstantOfShape", {"s"}, {"y"})},
                              {integers("s", {tera})})));
  EXPECT_TRUE(refusal(graphOf({node("Tile", {"x", "s"}, {"y"})},
                              {integers("s", {tera, tera})})));
  EXPECT_TRUE(refusal(graphOf({node("Pad", {"x", "s"}, {"y"})},
                              {integers("s", {0, tera, 0, tera})})));
  EXPECT_TRUE(refusal(graphOf({node("Resize", {"x", "", "", "s"}, {"y"})},
                              {integers("s", {tera, tera})})));
  auto scalar = [](const char *name, int64_t value) {
    return rawTensor<int64_t>({}, kInt64, {value}, name);
  };
  EXPECT_TRUE(refusal(
      graphOf({node("Range", {"a", "b", "c"}, {"y"})},
              {scalar("a", 0), scalar("b", INT64_MAX), scalar("c", 1)})));
  // Ten thousand operators of 100 MB each.
  for (const char *op : {"Resize", "Pad", "HannWindow", "DFT"}) {
    std::vector<Proto> nodes, initializers;
    for (int i = 0; i < 10000; ++i) {
      std::string name = std::to_string(i), out = i ? "y" + name : "y";
      std::string s = "s" + name;
      if (op == std::string("HannWindow")) {
        nodes.push_back(node(op, {s}, {out}));
        initializers.push_back(scalar(s.c_str(), (1 << 24) - i));
      } else if (op == std::string("DFT")) {
        nodes.push_back(node(op, {"signal", s}, {out}));
        initializers.push_back(scalar(s.c_str(), 4000 - i % 3000));
      } else if (op == std::string("Pad")) {
        nodes.push_back(
            node(op, {"x", s}, {out}, {stringAttr("mode", "edge")}));
        initializers.push_back(integers(s.c_str(), {0, 1 << 22, 0, i}));
      } else {
        nodes.push_back(node(op, {"x", "", "", s}, {out}));
        initializers.push_back(integers(s.c_str(), {2, (1 << 22) + i}));
      }
    }
    if (op == std::string("DFT")) {
      nodes.insert(nodes.begin(),
                   node("ConstantOfShape", {"shape"}, {"signal"}));
      initializers.push_back(integers("shape", {1, 4000, 1}));
    }
    EXPECT_EQ(refusal(graphOf(nodes, initializers)),
              session::ErrorClass::Unsupported)
        << op;
  }
}

// A chain of a million nodes, functions that call each other, deep text.
TEST(Threat, T5) {
  std::vector<Proto> nodes;
  constexpr int kCount = 1'000'000;
  for (int i = 0; i < kCount; ++i)
    nodes.push_back(node("Relu", {i ? "v" + std::to_string(i) : "x"},
                         {i + 1 < kCount ? "v" + std::to_string(i + 1) : "y"}));
  EXPECT_FALSE(refusal(graphOf(nodes)));
  nodes.clear();

  auto callsOf = [](std::vector<Proto> functions) {
    return onnx::parseModel(llvm::MemoryBuffer::getMemBufferCopy(
        model(graphOf({node("A", {"x"}, {"y"}, {}, "local")}).proto(), 21,
              functions)
            .bytes));
  };
  Proto a = function("A", {"i"}, {"o"}, {node("B", {"i"}, {"o"}, {}, "local")});
  Proto b = function("B", {"i"}, {"o"}, {node("A", {"i"}, {"o"}, {}, "local")});
  auto file = callsOf({a, b});
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto found = session::importModel(*file, {}, "calls");
  ASSERT_FALSE(bool(found));
  llvm::consumeError(found.takeError());

  for (std::string open : {"(", "[", "{", "<", "-", "tuple<", "dense<[",
                           "affine_map<(d0) -> ((", "module {"}) {
    std::string text;
    for (int i = 0; i < 100000; ++i)
      text += open;
    auto model = session::parseModel(text, "deep");
    ASSERT_FALSE(bool(model));
    llvm::consumeError(model.takeError());
  }
}

// Names and strings reach no kernel text.
TEST(Threat, T6) {
  std::vector<Proto> nodes;
  GraphSpec graph;
  std::vector<std::string> names = {"x\";__asm__(\"evil",
                                    "*/ evil /*",
                                    "\n#include \"/etc/evil\"\n",
                                    "evil\\",
                                    "evil?\?/",
                                    "__global__ evil",
                                    "\xe2\x80\xae"
                                    "evil",
                                    "\x1b[2Jevil"};
  for (const std::string &name : names) {
    graph.inputs.push_back(valueInfo(name, kFloat, {2, 3}));
    Proto relu = node("Softmax", {name}, {name + "!"});
    graph.nodes.push_back(relu.text(3, name));
    graph.outputs.push_back(Proto().text(1, name + "!"));
  }
  auto program = compileFor(TargetKind::Cuda, graph);
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  for (const runtime::Kernel &kernel : program->kernels) {
    EXPECT_EQ(kernel.source.find("evil"), std::string::npos);
    for (char c : kernel.source)
      EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 127)) << int(c);
    EXPECT_EQ(kernel.source.find("asm"), std::string::npos);
    EXPECT_EQ(kernel.source.find('"'), std::string::npos);
  }
}

// A chain of 20 000 ops does not become one enormous kernel.
TEST(Threat, T7) {
  Timer timer(120);
  std::vector<Proto> nodes;
  static const char *const kOps[] = {"Exp", "Tanh", "Neg", "Sin"};
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i)
    nodes.push_back(node(kOps[i % 4], {i ? "v" + std::to_string(i) : "x"},
                         {i + 1 < kCount ? "v" + std::to_string(i + 1) : "y"}));
  auto program = compileFor(TargetKind::Cuda, graphOf(nodes));
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  for (const runtime::Kernel &kernel : program->kernels)
    EXPECT_LT(kernel.source.size(), size_t(1) << 20);
}

// Text ends where its size says, whatever lies behind it.
TEST(Threat, T8TextEndsWhereItSays) {
  llvm::StringRef text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                         "  return %x : tensor<4xf32>\n}\n";
  auto model = session::parseModel(
      llvm::StringRef((text + "} behind").str()).take_front(text.size()),
      "text");
  EXPECT_TRUE(bool(model)) << llvm::toString(model.takeError());
}

// MLIR text: resources, large splats, dialects and types that are not there.
TEST(Threat, T8) {
  for (const char *text :
       {"func.func @f() -> tensor<4xf32> {\n %0 = graph.constant "
        "dense_resource<absent> : tensor<4xf32>\n return %0 : "
        "tensor<4xf32>\n}",
        "func.func @f() -> tensor<4xf32> {\n %0 = graph.constant "
        "dense_resource<blob> : tensor<4xf32>\n return %0 : "
        "tensor<4xf32>\n}\n{-# dialect_resources: { builtin: { blob: "
        "\"0x0400000000\" } } #-}",
        "func.func @f() -> tensor<9223372036854775807xf32> {\n %0 = "
        "graph.constant dense<1.0> : tensor<9223372036854775807xf32>\n return "
        "%0 : tensor<9223372036854775807xf32>\n}",
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n %0 = "
        "\"absent.op\"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n return %0 : "
        "tensor<4xf32>\n}",
        "func.func @f(%x: !absent.type) { return }",
        "func.func @f(%x: memref<4xf32>) { return }",
        "func.func private @f(tensor<4xf32>)", "", "module {}",
        "ML\xefR not really bytecode"}) {
    auto model = session::parseModel(text, "text");
    if (!model) {
      llvm::consumeError(model.takeError());
      continue;
    }
    auto compiled = session::compileForHost(*model, {});
    if (!compiled)
      llvm::consumeError(compiled.takeError());
  }
}

/// x[i] on a target, with memory that is watched.
std::vector<float> gather(TargetKind target,
                          const std::vector<int64_t> &index) {
  GraphSpec graph = graphOf({node("Gather", {"x", "i"}, {"y"})}, {}, {5});
  graph.inputs.push_back(valueInfo("i", kInt64, {int64_t(index.size())}));
  auto program = compileFor(target, graph);
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return {};
  }
  auto device = llvm::cantFail(session::openTarget(target)).device;
  auto executable = runtime::Executable::create(std::move(*program), device);
  if (!executable) {
    ADD_FAILURE() << llvm::toString(executable.takeError());
    return {};
  }
  std::vector<float> x = {1, 2, 3, 4, 5};
  auto bytes = [](const auto &v) {
    return llvm::ArrayRef(reinterpret_cast<const std::byte *>(v.data()),
                          v.size() * sizeof(v[0]));
  };
  auto outputs =
      runtime::runWithHostData(*executable, {bytes(x), bytes(index)});
  if (!outputs) {
    ADD_FAILURE() << llvm::toString(outputs.takeError());
    return {};
  }
  std::vector<float> y(index.size());
  std::memcpy(y.data(), outputs->front().data(), outputs->front().size());
  return y;
}

// Indices from the input's author never leave a buffer.
TEST(Threat, T9) {
  std::vector<int64_t> index = {INT64_MIN, INT64_MAX, 5, -6, 1000000004, -1};
  std::vector<float> clamped = {1, 5, 5, 1, 5, 5};
  EXPECT_EQ(gather(TargetKind::Host, index), clamped);
  EXPECT_EQ(gather(TargetKind::Emulator, index), clamped);
}

// Every byte of an output is written, whatever was there.
TEST(Threat, T10) {
  GraphSpec graph = graphOf(
      {node("Pad", {"x", "p"}, {"a"}), node("Softmax", {"a"}, {"b"}),
       node("Resize", {"b", "", "f"}, {"c"}),
       node("CumSum", {"c", "axis"}, {"d"}),
       node("Concat", {"d", "d"}, {"y"}, {intAttr("axis", 0)})},
      {integers("p", {1, 0, 0, 2}), rawTensor<float>({2}, 1, {2, 1.5f}, "f"),
       rawTensor<int64_t>({}, kInt64, {1}, "axis")});
  auto program = compileFor(TargetKind::Host, graph);
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  size_t bytes = program->outputs[0].bytes();
  auto device = llvm::cantFail(session::openTarget(TargetKind::Host)).device;
  auto executable =
      llvm::cantFail(runtime::Executable::create(std::move(*program), device));
  std::vector<char> outputs[2];
  std::vector<char> workspaces[2];
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 2; ++i) {
    char poison = i ? '\xff' : '\x55';
    outputs[i].assign(bytes + 256, poison);
    workspaces[i].assign(executable->workspaceBytes() + 512, poison);
    auto align = [](char *p) {
      return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(p) + 255) &
                                      ~uintptr_t(255));
    };
    runtime::ContextOptions options;
    options.workspace = {align(workspaces[i].data()),
                         executable->workspaceBytes()};
    auto context =
        llvm::cantFail(runtime::ExecutionContext::create(executable, options));
    void *out = align(outputs[i].data());
    const void *in = x.data();
    ASSERT_FALSE(bool(context->run(in, out, nullptr)));
    outputs[i] = std::vector<char>(static_cast<char *>(out),
                                   static_cast<char *>(out) + bytes);
  }
  EXPECT_EQ(outputs[0], outputs[1]);
}

// A cache entry with any bit changed is not believed.
TEST(Threat, T11) {
  auto module = std::make_shared<runtime::CompiledModule>();
  module->ptx = "ptx";
  module->cubin = std::vector<char>(64, 'c');
  std::string good = runtime::encodeModule({module, {runtime::StoredKernel()}});
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1 << (i % 8);
    auto found = runtime::decodeModule(bad);
    EXPECT_FALSE(bool(found)) << i;
    if (!found)
      llvm::consumeError(found.takeError());
  }
}

// The files of a cache appear whole or not at all, and follow no link.
TEST(Threat, T12) {
  llvm::SmallString<128> base;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fusec-threat", base));
  std::string victim = base.str().str() + "/victim";
  std::error_code code;
  llvm::raw_fd_ostream(victim, code) << "keep";
  std::string folder = base.str().str() + "/cache";
  ASSERT_FALSE(llvm::sys::fs::create_directory(folder));
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  runtime::KernelKey key = {};
  std::string name = folder + "/" + std::string(64, '0') + ".fusec";
  ASSERT_FALSE(llvm::sys::fs::create_link(victim, name));
  auto module = std::make_shared<runtime::CompiledModule>();
  module->ptx = "ptx";
  runtime::StoredKernel kernel;
  kernel.key = key;
  runtime::DiskCache cache({folder, 1 << 20, [](const std::string &) {}});
  EXPECT_FALSE(cache.find(key));
  cache.insert({module, {kernel}});
  uint64_t size = 0;
  ASSERT_FALSE(llvm::sys::fs::file_size(victim, size));
  EXPECT_EQ(size, 4u);
  llvm::sys::fs::remove_directories(base);
}

// Names in messages hold no control characters.
TEST(Threat, T13) {
  auto found = import(graphOf({node("Relu", {"\x1b[2J\x07\xff"}, {"y"})}));
  ASSERT_FALSE(bool(found));
  std::string message = llvm::toString(found.takeError());
  for (char c : message)
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 127)) << int(c);
}

// T14 is Hostile.BytesAreAnswered.

// Offsets near 2^31 and beyond have 64 bits, with room for the last block.
TEST(Threat, T15) {
  for (int64_t n : {int64_t(INT32_MAX), int64_t(INT32_MAX) - 1000,
                    (int64_t(1) << 31) + 1, int64_t(1) << 32}) {
    GraphSpec graph = graphOf({node("Neg", {"x"}, {"y"})});
    graph.inputs = {valueInfo("x", 3, {n})};
    auto program = compileFor(TargetKind::Cuda, graph);
    ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
    EXPECT_NE(program->kernels[0].source.find("i64 n0"), std::string::npos)
        << n << "\n"
        << program->kernels[0].source;
  }
}

} // namespace
