//===- OnnxReaderTest.cpp - tests of the ONNX reader ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxWriter.h"
#include "fusec/Frontend/Onnx/Reader.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

#include <chrono>
#include <random>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

llvm::Expected<Model> parse(const std::string &bytes,
                            const ReadLimits &limits = {}) {
  return parseModel(llvm::MemoryBuffer::getMemBufferCopy(bytes), "", limits);
}

/// The error of `bytes`, or "" if they are a model.
std::string errorOf(const std::string &bytes, const ReadLimits &limits = {}) {
  auto result = parse(bytes, limits);
  return result ? "" : llvm::toString(result.takeError());
}

std::string errorOf(const Proto &proto, const ReadLimits &limits = {}) {
  return errorOf(proto.bytes, limits);
}

/// A model that uses every kind of message.
Proto richModel() {
  GraphSpec branch;
  branch.nodes = {node("Identity", {"x"}, {"y1"})};
  branch.outputs = {valueInfo("y1", 1, {2, -1})};
  GraphSpec graph;
  Proto decorated = node("Relu", {"x", ""}, {"r"});
  decorated.text(6, "doc").text(8, "overload");
  decorated.message(9, Proto().text(1, "key").text(2, "value"));
  decorated.message(10, Proto().text(1, "device").integer(3, 2));
  graph.nodes = {
      decorated,
      node("Many", {"r"}, {"m"},
           {floatAttr("f", 1.5f), intAttr("i", -7), stringAttr("s", "text"),
            intsAttr("ints", {1, -2, 3}),
            tensorAttr("t", rawTensor<float>({2}, 1, {1, 2})),
            Proto().text(1, "floats").fixed<float>(7, {1, 2}).integer(20, 6),
            Proto().text(1, "strings").text(9, "a").text(9, "").integer(20, 8),
            Proto().text(1, "ref").text(21, "outer").integer(20, 1)},
           "custom"),
      node("If", {"c"}, {"y"},
           {graphAttr("then_branch", branch.proto()),
            graphAttr("else_branch", branch.proto())})};
  graph.initializers = {rawTensor<float>({2, 2}, 1, {1, 2, 3, 4}, "w")};
  graph.inputs = {valueInfo("x", 1, {2, -1}), valueInfo("c", 9, {})};
  graph.outputs = {valueInfo("y", 1, {2, 3})};
  Proto function_ = function("F", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})});
  function_.text(6, "alpha").message(11, floatAttr("beta", 2));
  function_.text(13, "over");
  return model(graph.proto(), 21, {function_});
}

TEST(OnnxReader, ReadsEveryField) {
  auto read = parse(richModel().bytes);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  Model &m = *read;
  EXPECT_EQ(m.irVersion, 10);
  EXPECT_EQ(m.producerName, "test");
  ASSERT_EQ(m.opsets.size(), 2u);
  EXPECT_EQ(m.opsets[0].version, 21);
  ASSERT_EQ(m.functions.size(), 1u);
  const Function &f = m.functions[0];
  EXPECT_EQ(f.name, "F");
  EXPECT_EQ(f.domain, "local");
  EXPECT_EQ(f.overload, "over");
  EXPECT_EQ(f.attributes.size(), 1u);
  ASSERT_EQ(f.attributeDefaults.size(), 1u);
  EXPECT_EQ(f.attributeDefaults[0].f, 2);

  const Graph &g = m.graph;
  EXPECT_EQ(g.name, "graph");
  ASSERT_EQ(g.nodes.size(), 3u);
  EXPECT_EQ(g.nodes[0].overload, "overload");
  EXPECT_EQ(g.nodes[0].inputs.size(), 2u);
  EXPECT_TRUE(g.nodes[0].inputs[1].empty());
  const Node &many = g.nodes[1];
  EXPECT_EQ(many.domain, "custom");
  ASSERT_EQ(many.attributes.size(), 8u);
  EXPECT_EQ(many.attributes[0].f, 1.5f);
  EXPECT_EQ(many.attributes[1].i, -7);
  EXPECT_EQ(many.attributes[2].s, "text");
  EXPECT_EQ(many.attributes[3].ints, (std::vector<int64_t>{1, -2, 3}));
  ASSERT_TRUE(many.attributes[4].t);
  EXPECT_EQ(many.attributes[4].t->rawData->size(), 8u);
  EXPECT_EQ(many.attributes[5].floats, (std::vector<float>{1, 2}));
  EXPECT_EQ(many.attributes[6].strings.size(), 2u);
  EXPECT_EQ(many.attributes[7].refName, "outer");
  const Attribute &branch = g.nodes[2].attributes[0];
  EXPECT_EQ(branch.type, AttributeType::Graph);
  ASSERT_TRUE(branch.g);
  EXPECT_EQ(branch.g->nodes[0].opType, "Identity");
  const auto &shape = branch.g->outputs[0].type.shape;
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ((*shape)[0].value, 2);
  EXPECT_EQ((*shape)[1].symbol, "d1");
  EXPECT_EQ(g.initializers[0].dims, (std::vector<int64_t>{2, 2}));
}

TEST(OnnxReader, EveryTruncationIsAnErrorWithAnOffset) {
  std::string bytes = richModel().bytes;
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string error = errorOf(bytes.substr(0, size));
    ASSERT_NE(error, "") << size;
    ASSERT_NE(error.find("at byte "), std::string::npos) << error;
  }
}

TEST(OnnxReader, EveryFlippedBitIsSurvived) {
  std::string bytes = richModel().bytes;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      auto result = parse(changed);
      if (!result)
        llvm::consumeError(result.takeError());
    }
}

TEST(OnnxReader, RandomBytesAreSurvived) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char &c : bytes)
      c = static_cast<char>(random() % (round % 2 ? 256 : 64));
    auto result = parse(bytes);
    if (!result)
      llvm::consumeError(result.takeError());
  }
}

TEST(OnnxReader, NamesThePlaceOfAFault) {
  GraphSpec graph;
  Proto bad = node("Relu", {"x"}, {"y"});
  bad.message(5, Proto().text(1, "a").integer(2, 1)); // f as a varint
  graph.nodes = {node("Relu", {"x"}, {"x1"}), bad};
  std::string error = errorOf(model(graph.proto()));
  EXPECT_NE(error.find("expected a float in field 2, found wire type 0"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("in graph.node[1].attribute[0]"), std::string::npos)
      << error;
}

TEST(OnnxReader, WrongWireTypesAreErrors) {
  Proto graph = GraphSpec().proto();
  auto withGraphField = [&](Proto field) {
    Proto g = graph;
    g.bytes += field.bytes;
    return model(g);
  };
  EXPECT_NE(errorOf(withGraphField(Proto().integer(1, 0))), "");
  EXPECT_NE(errorOf(withGraphField(Proto().real(2, 0))), "");
  EXPECT_NE(errorOf(withGraphField(Proto().tag(1, 3))), ""); // group
  EXPECT_NE(errorOf(withGraphField(Proto().tag(1, 7))), "");
  EXPECT_NE(errorOf(Proto().text(1, "x").bytes + model(graph).bytes), "");
  Proto tensor = Proto().text(2, "not a number");
  EXPECT_NE(errorOf(withGraphField(Proto().message(5, tensor))), "");
  // Packed and single numbers are both right; a float list of odd size is not.
  Proto packed = Proto().packed(1, {2, 3}).integer(1, 4).integer(2, 1);
  EXPECT_EQ(errorOf(withGraphField(Proto().message(5, packed))), "");
  Proto odd = Proto().text(4, "12345");
  EXPECT_NE(errorOf(withGraphField(Proto().message(5, odd))), "");
}

TEST(OnnxReader, UnknownFieldsAreSkipped) {
  Proto m = model(GraphSpec().proto());
  m.integer(500, 3).text(501, "x").real(502, 1);
  m.tag(503, 1).bytes += std::string(8, '\0');
  EXPECT_EQ(errorOf(m), "");
}

TEST(OnnxReader, OverlongIntegersAreErrors) {
  Proto m = model(GraphSpec().proto());
  Proto overlong = m;
  overlong.tag(5, 0).bytes += std::string(10, '\xff') + std::string(1, '\x01');
  EXPECT_NE(errorOf(overlong).find("an integer has more than 10 bytes"),
            std::string::npos);
  Proto tag = m;
  tag.bytes += Proto::varint(uint64_t(1) << 40 | 8);
  EXPECT_NE(errorOf(tag).find("does not fit 32 bits"), std::string::npos);
  Proto zero = m;
  zero.tag(0, 0);
  EXPECT_NE(errorOf(zero), "");
  // A data type beyond 32 bits is not cut to one that exists.
  GraphSpec graph;
  graph.initializers = {Proto().integer(2, (int64_t(1) << 32) + 1)};
  EXPECT_NE(errorOf(model(graph.proto())), "");
  // A length beyond the file, and one near 2^64.
  for (uint64_t length : {uint64_t(1) << 31, ~uint64_t(0)}) {
    Proto bad = m;
    bad.tag(2, 2).bytes += Proto::varint(length);
    EXPECT_NE(errorOf(bad).find("truncated"), std::string::npos);
  }
}

TEST(OnnxReader, HostileDimensionsReachTheCallerUnchanged) {
  GraphSpec graph;
  graph.initializers = {tensorProto({-1, INT64_MIN, INT64_MAX}, 1)};
  auto m = parse(model(graph.proto()).bytes);
  ASSERT_TRUE(bool(m));
  EXPECT_EQ(m->graph.initializers[0].dims,
            (std::vector<int64_t>{-1, INT64_MIN, INT64_MAX}));
  GraphSpec deep;
  deep.initializers = {tensorProto(std::vector<int64_t>(65, 1), 1)};
  EXPECT_NE(errorOf(model(deep.proto())).find("more than 64 entries"),
            std::string::npos);
  GraphSpec type;
  type.inputs = {valueInfo("x", 1, std::vector<int64_t>(1000, 1))};
  EXPECT_NE(errorOf(model(type.proto())).find("more than 64 dimensions"),
            std::string::npos);
}

/// `levels` graphs inside each other.
Proto nestedGraphs(int levels) {
  Proto graph = GraphSpec().proto();
  for (int i = 0; i < levels; ++i) {
    GraphSpec outer;
    outer.nodes = {node("If", {"c"}, {"y"}, {graphAttr("then_branch", graph)})};
    graph = outer.proto();
  }
  return graph;
}

TEST(OnnxReader, NestingIsBounded) {
  EXPECT_EQ(errorOf(model(nestedGraphs(30))), "");
  EXPECT_NE(errorOf(model(nestedGraphs(40))).find("nested more than 100 deep"),
            std::string::npos);
  // Nested types of sequences are not walked at all.
  Proto type;
  for (int i = 0; i < 5000; ++i)
    type = Proto().message(4, Proto().message(1, type));
  GraphSpec graph;
  graph.inputs = {Proto().text(1, "x").message(2, type)};
  EXPECT_EQ(errorOf(model(graph.proto())), "");
}

TEST(OnnxReader, ManyNestedBranchesAreReadOnce) {
  // Thirty Ifs in each other, each with two branches of which one nests.
  Proto graph = GraphSpec().proto();
  for (int i = 0; i < 30; ++i) {
    GraphSpec outer;
    outer.nodes = {node("If", {"c"}, {"y"},
                        {graphAttr("then_branch", graph),
                         graphAttr("else_branch", GraphSpec().proto())})};
    graph = outer.proto();
  }
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(errorOf(model(graph)), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(OnnxReader, LimitsAreEnforced) {
  GraphSpec graph;
  graph.nodes = {
      node("A", {"x", "y", "z"}, {}, {intAttr("a", 1), intAttr("b", 1)}),
      node("B", {}, {})};
  Proto m = model(graph.proto());
  ReadLimits limits;
  EXPECT_EQ(errorOf(m, limits), "");
  limits.maxNodes = 1;
  EXPECT_NE(errorOf(m, limits).find("more than 1 nodes"), std::string::npos);
  limits = {};
  limits.maxAttributesPerNode = 1;
  EXPECT_NE(errorOf(m, limits).find("more than 1 attributes"),
            std::string::npos);
  limits = {};
  limits.maxListLength = 2;
  EXPECT_NE(errorOf(m, limits).find("more than 2 entries"), std::string::npos);
  limits = {};
  limits.maxNameBytes = 3;
  EXPECT_NE(errorOf(m, limits).find("above the limit of 3"), std::string::npos);
  limits = {};
  limits.maxMessages = 4;
  EXPECT_NE(errorOf(m, limits).find("more than 4 messages"), std::string::npos);
  limits = {};
  limits.maxFileBytes = 10;
  EXPECT_NE(errorOf(m, limits).find("above the limit of 10"),
            std::string::npos);
}

TEST(OnnxReader, AModelNeedsAGraphAndAnOperatorSet) {
  EXPECT_NE(errorOf("").find("the model has no graph"), std::string::npos);
  EXPECT_NE(errorOf(Proto().message(7, Proto())).find("no operator set"),
            std::string::npos);
  Proto two = model(Proto());
  two.message(7, Proto());
  EXPECT_NE(errorOf(two).find("found a second"), std::string::npos);
}

TEST(OnnxReader, RecursiveFunctionsAreOnlyRead) {
  // Refusing them is the importer's work; the reader must not follow them.
  Proto a = function("A", {"x"}, {"y"}, {node("A", {"x"}, {"y"}, {}, "local")});
  EXPECT_EQ(errorOf(model(GraphSpec().proto(), 21, {a})), "");
}

TEST(OnnxReader, AttributesWithoutATypeGetIt) {
  GraphSpec graph;
  graph.nodes = {
      node("A", {}, {},
           {Proto().text(1, "i").integer(3, 4), Proto().text(1, "f").real(2, 1),
            Proto().text(1, "none")})};
  auto m = parse(model(graph.proto()).bytes);
  ASSERT_TRUE(bool(m));
  const auto &attributes = m->graph.nodes[0].attributes;
  EXPECT_EQ(attributes[0].type, AttributeType::Int);
  EXPECT_EQ(attributes[1].type, AttributeType::Float);
  EXPECT_EQ(attributes[2].type, AttributeType::Undefined);
}

TEST(OnnxReader, MissingFilesAreErrors) {
  auto m = readModel("/nonexistent/model.onnx");
  ASSERT_FALSE(bool(m));
  EXPECT_NE(llvm::toString(m.takeError()).find("cannot open"),
            std::string::npos);
}

} // namespace
