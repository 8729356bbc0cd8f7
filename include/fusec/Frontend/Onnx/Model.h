//===- Model.h - an ONNX file as plain structs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of the ONNX format (IR versions 3 to 14) as plain structs.
// Every string and every raw payload is a view into the bytes of the file,
// which `Model::buffer` owns: views are valid as long as a copy of that
// pointer lives. Nothing here is validated beyond its wire format and the
// limits of Reader.h; names may be empty, hold any byte, and be duplicated.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FRONTEND_ONNX_MODEL_H
#define FUSEC_FRONTEND_ONNX_MODEL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusec::onnx {

struct Graph;

/// TensorProto.DataType. Values beyond the list may occur in files.
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

/// A key and its value, of metadata and external data.
struct StringPair {
  llvm::StringRef key, value;
};

/// TensorProto. At most one payload is meant to be set; TensorData.h checks.
struct Tensor {
  llvm::StringRef name;
  DataType dataType = DataType::Undefined;
  std::vector<int64_t> dims;
  bool hasSegment = false;
  /// The location is a file of its own (see `externalData`).
  bool external = false;
  std::optional<llvm::StringRef> rawData;
  std::vector<float> floatData;
  std::vector<int32_t> int32Data;
  std::vector<int64_t> int64Data;
  std::vector<double> doubleData;
  std::vector<uint64_t> uint64Data;
  size_t stringCount = 0;
  std::vector<StringPair> externalData;
};

/// SparseTensorProto.
struct SparseTensor {
  Tensor values, indices;
  std::vector<int64_t> dims;
};

/// One dimension of a TensorShapeProto: a number, a symbol, or neither.
struct Dimension {
  std::optional<int64_t> value;
  llvm::StringRef symbol;
};

/// TypeProto. Element types of sequences, optionals and maps are read for
/// their wire format only; fusec supports tensors.
struct Type {
  enum class Kind : uint8_t {
    None,
    Tensor,
    SparseTensor,
    Sequence,
    Map,
    Optional,
    Opaque
  };
  Kind kind = Kind::None;
  DataType elementType = DataType::Undefined;
  /// Nothing: unknown rank.
  std::optional<std::vector<Dimension>> shape;
};

/// ValueInfoProto.
struct ValueInfo {
  llvm::StringRef name;
  Type type;
};

/// AttributeProto.AttributeType.
enum class AttributeType : int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};

/// AttributeProto. `type` says which member holds the value.
struct Attribute {
  llvm::StringRef name;
  /// Inside a function: the function's attribute whose value this one takes.
  llvm::StringRef refName;
  AttributeType type = AttributeType::Undefined;
  float f = 0;
  int64_t i = 0;
  llvm::StringRef s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<llvm::StringRef> strings;
  std::unique_ptr<onnx::Tensor> t;
  std::unique_ptr<Graph> g;
  std::vector<onnx::Tensor> tensors;
  std::vector<Graph> graphs;
  std::vector<onnx::SparseTensor> sparseTensors;
  std::vector<onnx::Type> types;

  Attribute();
  Attribute(Attribute &&) noexcept;
  Attribute &operator=(Attribute &&) noexcept;
  ~Attribute();
};

/// NodeProto. Device configurations are checked for their wire format and
/// dropped: placement is not the file's to decide.
struct Node {
  llvm::StringRef name, opType, domain, overload;
  /// Empty names stand for omitted optional values.
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<Attribute> attributes;
};

/// GraphProto.
struct Graph {
  llvm::StringRef name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparseInitializers;
  std::vector<ValueInfo> inputs, outputs, valueInfos;
  std::vector<StringPair> metadata;
};

/// OperatorSetIdProto. The default domain is "" ("ai.onnx" means the same).
struct OpsetId {
  llvm::StringRef domain;
  int64_t version = 0;
};

/// FunctionProto.
struct Function {
  llvm::StringRef name, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  /// Attributes without and with a default value.
  std::vector<llvm::StringRef> attributes;
  std::vector<Attribute> attributeDefaults;
  std::vector<Node> nodes;
  std::vector<OpsetId> opsets;
  std::vector<ValueInfo> valueInfos;
};

/// ModelProto. Training information and device configurations are dropped.
struct Model {
  /// The bytes that every view points into.
  std::shared_ptr<const llvm::MemoryBuffer> buffer;
  /// The folder that external data lives in; empty for models from memory.
  std::string folder;
  int64_t irVersion = 0;
  llvm::StringRef producerName, producerVersion, domain;
  std::vector<OpsetId> opsets;
  Graph graph;
  std::vector<StringPair> metadata;
  std::vector<Function> functions;
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTEND_ONNX_MODEL_H
