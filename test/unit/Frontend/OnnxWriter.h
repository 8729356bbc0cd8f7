//===- OnnxWriter.h - makes ONNX bytes for tests ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few functions that write protobuf by hand, so that tests can make any
// file, well formed or not, without depending on what they test.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_FRONTEND_ONNXWRITER_H
#define FUSEC_TEST_UNIT_FRONTEND_ONNXWRITER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace fusec::test {

/// A protobuf message under construction.
struct Proto {
  std::string bytes;

  static std::string varint(uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7)
      out += static_cast<char>(value | 0x80);
    return out += static_cast<char>(value);
  }

  Proto &tag(uint64_t field, unsigned wire) {
    bytes += varint(field << 3 | wire);
    return *this;
  }
  Proto &integer(uint64_t field, int64_t value) {
    tag(field, 0).bytes += varint(static_cast<uint64_t>(value));
    return *this;
  }
  Proto &text(uint64_t field, const std::string &value) {
    tag(field, 2).bytes += varint(value.size()) + value;
    return *this;
  }
  Proto &message(uint64_t field, const Proto &value) {
    return text(field, value.bytes);
  }
  Proto &real(uint64_t field, float value) {
    tag(field, 5).bytes.append(reinterpret_cast<const char *>(&value), 4);
    return *this;
  }
  Proto &packed(uint64_t field, const std::vector<int64_t> &values) {
    std::string body;
    for (int64_t v : values)
      body += varint(static_cast<uint64_t>(v));
    return text(field, body);
  }
  /// Numbers of fixed width in one packed field.
  template <typename T>
  Proto &fixed(uint64_t field, const std::vector<T> &values) {
    return text(field,
                std::string(reinterpret_cast<const char *>(values.data()),
                            values.size() * sizeof(T)));
  }
};

/// A TensorProto with dims, data type and name; add a payload to it.
inline Proto tensorProto(const std::vector<int64_t> &dims, int dataType,
                         const std::string &name = "t") {
  Proto out;
  for (int64_t d : dims)
    out.integer(1, d);
  return out.integer(2, dataType).text(8, name);
}

/// A tensor of raw elements.
template <typename T>
Proto rawTensor(const std::vector<int64_t> &dims, int dataType,
                const std::vector<T> &values, const std::string &name = "t") {
  Proto out = tensorProto(dims, dataType, name);
  return out.fixed(9, values);
}

/// A ValueInfoProto of a tensor; negative dims become symbols "d<i>".
inline Proto valueInfo(const std::string &name, int dataType,
                       const std::vector<int64_t> &dims) {
  Proto shape;
  for (size_t i = 0; i < dims.size(); ++i)
    shape.message(1, dims[i] < 0 ? Proto().text(2, "d" + std::to_string(i))
                                 : Proto().integer(1, dims[i]));
  Proto tensor = Proto().integer(1, dataType).message(2, shape);
  return Proto().text(1, name).message(2, Proto().message(1, tensor));
}

inline Proto intAttr(const std::string &name, int64_t value) {
  return Proto().text(1, name).integer(3, value).integer(20, 2);
}
inline Proto floatAttr(const std::string &name, float value) {
  return Proto().text(1, name).real(2, value).integer(20, 1);
}
inline Proto stringAttr(const std::string &name, const std::string &value) {
  return Proto().text(1, name).text(4, value).integer(20, 3);
}
inline Proto tensorAttr(const std::string &name, const Proto &value) {
  return Proto().text(1, name).message(5, value).integer(20, 4);
}
inline Proto graphAttr(const std::string &name, const Proto &value) {
  return Proto().text(1, name).message(6, value).integer(20, 5);
}
inline Proto intsAttr(const std::string &name,
                      const std::vector<int64_t> &values) {
  Proto out = Proto().text(1, name);
  for (int64_t v : values)
    out.integer(8, v);
  return out.integer(20, 7);
}

inline Proto floatsAttr(const std::string &name,
                        const std::vector<float> &values) {
  Proto out = Proto().text(1, name);
  for (float v : values)
    out.real(7, v);
  return out.integer(20, 6);
}

/// A NodeProto.
inline Proto node(const std::string &op, const std::vector<std::string> &ins,
                  const std::vector<std::string> &outs,
                  const std::vector<Proto> &attributes = {},
                  const std::string &domain = "") {
  Proto out;
  for (const std::string &i : ins)
    out.text(1, i);
  for (const std::string &o : outs)
    out.text(2, o);
  out.text(3, "node_" + op).text(4, op);
  for (const Proto &a : attributes)
    out.message(5, a);
  if (!domain.empty())
    out.text(7, domain);
  return out;
}

/// A GraphProto.
struct GraphSpec {
  std::vector<Proto> nodes, initializers, inputs, outputs;
  Proto proto() const {
    Proto out;
    for (const Proto &n : nodes)
      out.message(1, n);
    out.text(2, "graph");
    for (const Proto &i : initializers)
      out.message(5, i);
    for (const Proto &i : inputs)
      out.message(11, i);
    for (const Proto &o : outputs)
      out.message(12, o);
    return out;
  }
};

/// A ModelProto; functions come before the graph, so that a cut anywhere
/// leaves the graph or the operator set out.
inline Proto model(const Proto &graph, int64_t opset = 21,
                   const std::vector<Proto> &functions = {}) {
  Proto out = Proto().integer(1, 10).text(2, "test");
  for (const Proto &f : functions)
    out.message(25, f);
  out.message(8, Proto().text(1, "").integer(2, opset));
  if (!functions.empty())
    out.message(8, Proto().text(1, "local").integer(2, 1));
  return out.message(7, graph);
}

/// A FunctionProto in domain "local".
inline Proto function(const std::string &name,
                      const std::vector<std::string> &ins,
                      const std::vector<std::string> &outs,
                      const std::vector<Proto> &nodes, int64_t opset = 21) {
  Proto out = Proto().text(1, name);
  for (const std::string &i : ins)
    out.text(4, i);
  for (const std::string &o : outs)
    out.text(5, o);
  for (const Proto &n : nodes)
    out.message(7, n);
  out.message(9, Proto().integer(2, opset));
  out.message(9, Proto().text(1, "local").integer(2, 1));
  return out.text(10, "local");
}

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_FRONTEND_ONNXWRITER_H
