//===- Reader.cpp - bounded reader of ONNX files --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only source of fusec that is compiled with exceptions: protozero reports
// malformed bytes by throwing. Parsing functions throw too (ReadFailure), and
// `guarded` turns everything into llvm::Error at the boundary.
//
// One function a message kind, one case a field; Wire.h reads the values.
//===----------------------------------------------------------------------===//
#include "fusec/Frontend/Onnx/Reader.h"
#include "Wire.h"
#include "fusec/Support/File.h"

#include "llvm/Support/Path.h"

#include <new>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::wire;
using llvm::Expected;
using llvm::StringRef;
using protozero::pbf_reader;

namespace fusec::onnx {
Attribute::Attribute() = default;
Attribute::Attribute(Attribute &&) noexcept = default;
Attribute &Attribute::operator=(Attribute &&) noexcept = default;
Attribute::~Attribute() = default;
} // namespace fusec::onnx

namespace {

// clang-format off
// One line a field reads as the table that it is.

//===----------------------------------------------------------------------===//
// Messages, leaves first
//===----------------------------------------------------------------------===//

void parsePair(Message &m, StringPair &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1: out.key = m.name(); break;
    case 2: out.value = m.bytes(); break;
    default: m.skip();
    }
  }
}

/// For messages that are dropped: their fields must be well formed.
void parseDropped(Message &m, int &) {
  while (m.next())
    m.skip();
}

void parseSegment(Message &m, bool &present) {
  present = true;
  int unused;
  parseDropped(m, unused);
}

void parseTensor(Message &m, Tensor &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1: m.addIntegers(out.dims, m.shared().limits.maxRank); break;
    case 2: out.dataType = static_cast<DataType>(m.integer32()); break;
    case 3: m.message("segment", out.hasSegment, parseSegment); break;
    case 4: m.addFloats(out.floatData); break;
    case 5: m.addIntegers32(out.int32Data); break;
    case 6:
      m.bytes();
      ++out.stringCount;
      break;
    case 7: m.addIntegers(out.int64Data); break;
    case 8: out.name = m.name(); break;
    case 9: out.rawData = m.bytes(); break;
    case 10: m.addDoubles(out.doubleData); break;
    case 11: m.addUnsigned(out.uint64Data); break;
    case 12: m.bytes(); break; // doc_string
    case 13: m.addMessage("external_data", out.externalData, parsePair); break;
    case 14: {
      int32_t location = m.integer32();
      if (location != 0 && location != 1)
        fail("expected data location 0 or 1, found " +
             std::to_string(location));
      out.external = location == 1;
      break;
    }
    default: m.skip(); // 16: metadata
    }
  }
}

void parseSparseTensor(Message &m, SparseTensor &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1: m.message("values", out.values, parseTensor); break;
    case 2: m.message("indices", out.indices, parseTensor); break;
    case 3: m.addIntegers(out.dims, m.shared().limits.maxRank); break;
    default: m.skip();
    }
  }
}

void parseDimension(Message &m, Dimension &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1:
      out.value = m.integer();
      out.symbol = {};
      break;
    case 2:
      out.symbol = m.name();
      out.value.reset();
      break;
    default: m.skip();
    }
  }
}

void parseShape(Message &m, std::vector<Dimension> &out) {
  while (m.next()) {
    if (m.tag() != 1) {
      m.skip();
      continue;
    }
    if (out.size() >= m.shared().limits.maxRank)
      fail("a shape has more than " +
           std::to_string(m.shared().limits.maxRank) + " dimensions");
    m.addMessage("dim", out, parseDimension);
  }
}

void parseTensorType(Message &m, Type &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1: out.elementType = static_cast<DataType>(m.integer32()); break;
    case 2: m.message("shape", out.shape.emplace(), parseShape); break;
    default: m.skip();
    }
  }
}

void parseType(Message &m, Type &out) {
  auto start = [&](Type::Kind kind) {
    out = Type();
    out.kind = kind;
  };
  int unused;
  while (m.next()) {
    switch (m.tag()) {
    case 1:
      start(Type::Kind::Tensor);
      m.message("tensor_type", out, parseTensorType);
      break;
    case 8:
      start(Type::Kind::SparseTensor);
      m.message("sparse_tensor_type", out, parseTensorType);
      break;
    case 4:
      start(Type::Kind::Sequence);
      m.message("sequence_type", unused, parseDropped);
      break;
    case 5:
      start(Type::Kind::Map);
      m.message("map_type", unused, parseDropped);
      break;
    case 7:
      start(Type::Kind::Opaque);
      m.message("opaque_type", unused, parseDropped);
      break;
    case 9:
      start(Type::Kind::Optional);
      m.message("optional_type", unused, parseDropped);
      break;
    default: m.skip();
    }
  }
}

void parseValueInfo(Message &m, ValueInfo &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1: out.name = m.name(); break;
    case 2: m.message("type", out.type, parseType); break;
    default: m.skip();
    }
  }
}

void parseOpset(Message &m, OpsetId &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1: out.domain = m.name(); break;
    case 2: out.version = m.integer(); break;
    default: m.skip();
    }
  }
}

//===----------------------------------------------------------------------===//
// Messages that contain graphs
//===----------------------------------------------------------------------===//

void parseGraph(Message &m, Graph &out);

/// The type of an attribute of IR version 1 files and careless writers, which
/// leave it out.
AttributeType inferAttributeType(const Attribute &a, uint32_t lastValueTag) {
  switch (lastValueTag) {
  case 2: return AttributeType::Float;
  case 3: return AttributeType::Int;
  case 4: return AttributeType::String;
  case 5: return AttributeType::Tensor;
  case 6: return AttributeType::Graph;
  case 7: return AttributeType::Floats;
  case 8: return AttributeType::Ints;
  case 9: return AttributeType::Strings;
  case 10: return AttributeType::Tensors;
  case 11: return AttributeType::Graphs;
  default: return AttributeType::Undefined;
  }
}

void parseAttribute(Message &m, Attribute &out) {
  uint32_t lastValueTag = 0;
  while (m.next()) {
    if (m.tag() >= 2 && m.tag() <= 11)
      lastValueTag = m.tag();
    switch (m.tag()) {
    case 1: out.name = m.name(); break;
    case 2: out.f = m.real(); break;
    case 3: out.i = m.integer(); break;
    case 4: out.s = m.bytes(); break;
    case 5:
      out.t = std::make_unique<Tensor>();
      m.message("t", *out.t, parseTensor);
      break;
    case 6:
      out.g = std::make_unique<Graph>();
      m.message("g", *out.g, parseGraph);
      break;
    case 7: m.addFloats(out.floats); break;
    case 8: m.addIntegers(out.ints); break;
    case 9: m.addName(out.strings); break;
    case 10: m.addMessage("tensors", out.tensors, parseTensor); break;
    case 11: m.addMessage("graphs", out.graphs, parseGraph); break;
    case 14: m.message("tp", out.types.emplace_back(), parseType); break;
    case 15: m.addMessage("type_protos", out.types, parseType); break;
    case 20: out.type = static_cast<AttributeType>(m.integer32()); break;
    case 21: out.refName = m.name(); break;
    case 22:
      m.message("sparse_tensor", out.sparseTensors.emplace_back(),
                parseSparseTensor);
      break;
    case 23:
      m.addMessage("sparse_tensors", out.sparseTensors, parseSparseTensor);
      break;
    default: m.skip();
    }
  }
  if (out.type == AttributeType::Undefined && out.refName.empty())
    out.type = inferAttributeType(out, lastValueTag);
}

void parseNode(Message &m, Node &out) {
  Context &context = m.shared();
  if (++context.nodes > context.limits.maxNodes)
    fail("more than " + std::to_string(context.limits.maxNodes) + " nodes");
  int unused;
  while (m.next()) {
    switch (m.tag()) {
    case 1: m.addName(out.inputs); break;
    case 2: m.addName(out.outputs); break;
    case 3: out.name = m.name(); break;
    case 4: out.opType = m.name(); break;
    case 5:
      if (out.attributes.size() >= context.limits.maxAttributesPerNode)
        fail("a node has more than " +
             std::to_string(context.limits.maxAttributesPerNode) +
             " attributes");
      m.addMessage("attribute", out.attributes, parseAttribute);
      break;
    case 7: out.domain = m.name(); break;
    case 8: out.overload = m.name(); break;
    case 10: m.message("device_configurations", unused, parseDropped); break;
    default: m.skip(); // 6: doc_string, 9: metadata
    }
  }
}

void parseGraph(Message &m, Graph &out) {
  int unused;
  while (m.next()) {
    switch (m.tag()) {
    case 1: m.addMessage("node", out.nodes, parseNode); break;
    case 2: out.name = m.name(); break;
    case 5: m.addMessage("initializer", out.initializers, parseTensor); break;
    case 11: m.addMessage("input", out.inputs, parseValueInfo); break;
    case 12: m.addMessage("output", out.outputs, parseValueInfo); break;
    case 13: m.addMessage("value_info", out.valueInfos, parseValueInfo); break;
    case 14: m.message("quantization_annotation", unused, parseDropped); break;
    case 15:
      m.addMessage("sparse_initializer", out.sparseInitializers,
                   parseSparseTensor);
      break;
    case 16: m.addMessage("metadata_props", out.metadata, parsePair); break;
    default: m.skip(); // 10: doc_string
    }
  }
}

void parseFunction(Message &m, Function &out) {
  while (m.next()) {
    switch (m.tag()) {
    case 1: out.name = m.name(); break;
    case 4: m.addName(out.inputs); break;
    case 5: m.addName(out.outputs); break;
    case 6: m.addName(out.attributes); break;
    case 7: m.addMessage("node", out.nodes, parseNode); break;
    case 9: m.addMessage("opset_import", out.opsets, parseOpset); break;
    case 10: out.domain = m.name(); break;
    case 11:
      m.addMessage("attribute_proto", out.attributeDefaults, parseAttribute);
      break;
    case 12: m.addMessage("value_info", out.valueInfos, parseValueInfo); break;
    case 13: out.overload = m.name(); break;
    default: m.skip(); // 8: doc_string, 14: metadata
    }
  }
}

void parseModelMessage(Message &m, Model &out) {
  int unused;
  bool hasGraph = false;
  while (m.next()) {
    switch (m.tag()) {
    case 1: out.irVersion = m.integer(); break;
    case 2: out.producerName = m.name(); break;
    case 3: out.producerVersion = m.name(); break;
    case 4: out.domain = m.name(); break;
    case 7:
      if (hasGraph)
        fail("expected one graph, found a second");
      hasGraph = true;
      m.message("graph", out.graph, parseGraph);
      break;
    case 8: m.addMessage("opset_import", out.opsets, parseOpset); break;
    case 14: m.addMessage("metadata_props", out.metadata, parsePair); break;
    case 20: m.message("training_info", unused, parseDropped); break;
    case 25: m.addMessage("functions", out.functions, parseFunction); break;
    case 26: m.message("configuration", unused, parseDropped); break;
    default: m.skip(); // 5: model_version, 6: doc_string
    }
  }
  if (!hasGraph)
    fail("the model has no graph");
  if (out.opsets.empty())
    fail("the model imports no operator set");
}

// clang-format on

//===----------------------------------------------------------------------===//
// The boundary
//===----------------------------------------------------------------------===//

/// Runs `parse` on all of `bytes`; nothing that it throws goes further.
template <typename T, typename Parse>
llvm::Error guarded(StringRef bytes, const ReadLimits &limits, const char *what,
                    T &result, Parse parse) {
  std::string reason, where;
  try {
    Context context(bytes, limits);
    try {
      if (bytes.size() > limits.maxFileBytes)
        fail(std::to_string(bytes.size()) + " bytes are above the limit of " +
             std::to_string(limits.maxFileBytes));
      Message m(pbf_reader(bytes.data(), bytes.size()), context);
      parse(m, result);
      return llvm::Error::success();
    } catch (const ReadFailure &failure) {
      reason = failure.message;
    } catch (const protozero::end_of_buffer_exception &) {
      reason = "truncated message";
    } catch (const protozero::varint_too_long_exception &) {
      reason = "an integer has more than 10 bytes";
    } catch (const protozero::invalid_tag_exception &) {
      reason = "invalid field number";
    } catch (const protozero::unknown_pbf_wire_type_exception &) {
      reason = "unknown wire type";
    } catch (const protozero::exception &) {
      reason = "malformed message";
    }
    where = context.where();
  } catch (const std::bad_alloc &) {
    return llvm::createStringError("invalid ONNX %s: out of memory", what);
  } catch (...) {
    return llvm::createStringError("invalid ONNX %s: unexpected failure", what);
  }
  return llvm::createStringError("invalid ONNX %s: %s (%s)", what,
                                 reason.c_str(), where.c_str());
}

} // namespace

Expected<Model> onnx::parseModel(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                 StringRef folder, const ReadLimits &limits) {
  Model model;
  model.folder = folder.str();
  model.buffer = std::move(buffer);
  if (llvm::Error error = guarded(model.buffer->getBuffer(), limits, "model",
                                  model, parseModelMessage))
    return std::move(error);
  return std::move(model);
}

Expected<TensorFile>
onnx::parseTensor(std::unique_ptr<llvm::MemoryBuffer> buffer,
                  const ReadLimits &limits) {
  TensorFile file;
  file.buffer = std::move(buffer);
  auto parse = [](Message &m, Tensor &out) { ::parseTensor(m, out); };
  if (llvm::Error error = guarded(file.buffer->getBuffer(), limits, "tensor",
                                  file.tensor, parse))
    return std::move(error);
  return std::move(file);
}

/// Puts the path in front of an error.
static llvm::Error withPath(StringRef path, llvm::Error error) {
  return llvm::createStringError("'%s': %s", path.str().c_str(),
                                 llvm::toString(std::move(error)).c_str());
}

Expected<Model> onnx::readModel(StringRef path, const ReadLimits &limits) {
  auto buffer = readRegularFile(path, limits.maxFileBytes);
  if (!buffer)
    return buffer.takeError();
  StringRef folder = llvm::sys::path::parent_path(path);
  Expected<Model> model = parseModel(
      std::move(*buffer), folder.empty() ? StringRef(".") : folder, limits);
  if (!model)
    return withPath(path, model.takeError());
  return model;
}

Expected<TensorFile> onnx::readTensorFile(StringRef path,
                                          const ReadLimits &limits) {
  auto buffer = readRegularFile(path, limits.maxFileBytes);
  if (!buffer)
    return buffer.takeError();
  Expected<TensorFile> file = parseTensor(std::move(*buffer), limits);
  if (!file)
    return withPath(path, file.takeError());
  return file;
}
