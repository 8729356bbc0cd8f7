//===- Wire.h - fields of protobuf messages ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps through the fields of a message and reads values whose wire type was
// checked, within the limits of Reader.h. For Reader.cpp alone: functions here
// throw (protozero's exceptions and ReadFailure).
//
// `Context` keeps a stack of the messages being read. It is popped by hand, so
// after a throw it still names the place of the fault.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_WIRE_H
#define FUSEC_LIB_FRONTEND_ONNX_WIRE_H

#include "fusec/Frontend/Onnx/Reader.h"

// Every accessor below is called after its wire type was checked, which is
// what protozero's assertions ask for; they must not abort in any case.
#define protozero_assert(x) ((void)0)
#include <protozero/pbf_reader.hpp>

#include <cstring>
#include <string>

namespace fusec::onnx::wire {

using llvm::StringRef;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// Our own complaint about the bytes.
struct ReadFailure {
  std::string message;
};

[[noreturn]] inline void fail(std::string message) {
  throw ReadFailure{std::move(message)};
}

/// What is shared by all messages of one file.
struct Context {
  struct Frame {
    const char *field;
    size_t index;
    bool repeated;
  };

  const char *begin;
  const ReadLimits &limits;
  const char *position;
  std::vector<Frame> stack;
  size_t nodes = 0;
  size_t messages = 0;

  Context(StringRef bytes, const ReadLimits &limits)
      : begin(bytes.data()), limits(limits), position(bytes.data()) {}

  std::string where() const {
    std::string text = "at byte " + std::to_string(position - begin);
    for (size_t i = 0; i < stack.size(); ++i) {
      text += i == 0 ? ", in " : ".";
      text += stack[i].field;
      if (stack[i].repeated)
        text += "[" + std::to_string(stack[i].index) + "]";
    }
    return text;
  }
};

/// One message: steps through its fields and reads values of a checked wire
/// type. Numbers follow protobuf: a repeated number may be packed or not.
class Message {
public:
  Message(pbf_reader reader, Context &context)
      : reader(reader), context(context) {}

  /// Moves to the next field; false at the end of the message.
  bool next() {
    const char *at = reader.data().data();
    if (reader.data().size() != 0) {
      context.position = at;
      // protozero keeps only the low half of a tag.
      const char *peek = at;
      if (protozero::decode_varint(&peek, at + reader.data().size()) >
          UINT32_MAX)
        fail("a field tag does not fit 32 bits");
    }
    return reader.next();
  }

  uint32_t tag() const { return reader.tag(); }
  void skip() { reader.skip(); }

  int64_t integer() {
    expect(pbf_wire_type::varint, "an integer");
    return reader.get_int64();
  }

  int32_t integer32() {
    int64_t value = integer();
    if (value < INT32_MIN || value > INT32_MAX)
      fail("expected a 32-bit integer, found " + std::to_string(value));
    return static_cast<int32_t>(value);
  }

  float real() {
    expect(pbf_wire_type::fixed32, "a float");
    return reader.get_float();
  }

  /// Bytes of any length.
  StringRef bytes() {
    expect(pbf_wire_type::length_delimited, "bytes");
    auto view = reader.get_view();
    return StringRef(view.data(), view.size());
  }

  /// A string whose length is capped.
  StringRef name() {
    StringRef text = bytes();
    if (text.size() > context.limits.maxNameBytes)
      fail("a name of " + std::to_string(text.size()) +
           " bytes is above the limit of " +
           std::to_string(context.limits.maxNameBytes));
    return text;
  }

  void addName(std::vector<StringRef> &list) {
    StringRef text = name();
    if (list.size() >= context.limits.maxListLength)
      fail("a list has more than " +
           std::to_string(context.limits.maxListLength) + " entries");
    list.push_back(text);
  }

  void addIntegers(std::vector<int64_t> &list, size_t maxLength = SIZE_MAX) {
    addVarints(list, maxLength,
               [](uint64_t raw) { return static_cast<int64_t>(raw); });
  }

  void addUnsigned(std::vector<uint64_t> &list) {
    addVarints(list, SIZE_MAX, [](uint64_t raw) { return raw; });
  }

  void addIntegers32(std::vector<int32_t> &list) {
    addVarints(list, SIZE_MAX, [](uint64_t raw) {
      int64_t value = static_cast<int64_t>(raw);
      if (value < INT32_MIN || value > INT32_MAX)
        fail("expected 32-bit integers, found " + std::to_string(value));
      return static_cast<int32_t>(value);
    });
  }

  void addFloats(std::vector<float> &list) {
    addFixed(list, pbf_wire_type::fixed32);
  }
  void addDoubles(std::vector<double> &list) {
    addFixed(list, pbf_wire_type::fixed64);
  }

  /// Reads the current field as a message with `parse(Message, result)`.
  template <typename T, typename Parse>
  void message(const char *field, T &result, Parse parse) {
    enter(field, 0, false, result, parse);
  }

  /// Appends the current field, a message, to `list`.
  template <typename T, typename Parse>
  void addMessage(const char *field, std::vector<T> &list, Parse parse) {
    list.emplace_back();
    enter(field, list.size() - 1, true, list.back(), parse);
  }

  Context &shared() { return context; }

private:
  void expect(pbf_wire_type type, const char *what) {
    if (!reader.has_wire_type(type))
      fail("expected " + std::string(what) + " in field " +
           std::to_string(reader.tag()) + ", found wire type " +
           std::to_string(static_cast<unsigned>(reader.wire_type())));
  }

  template <typename T, typename Parse>
  void enter(const char *field, size_t index, bool repeated, T &result,
             Parse parse) {
    expect(pbf_wire_type::length_delimited, "a message");
    if (context.stack.size() >= context.limits.maxDepth)
      fail("messages are nested more than " +
           std::to_string(context.limits.maxDepth) + " deep");
    if (++context.messages > context.limits.maxMessages)
      fail("more than " + std::to_string(context.limits.maxMessages) +
           " messages");
    pbf_reader body = reader.get_message();
    context.stack.push_back({field, index, repeated});
    Message inner(body, context);
    parse(inner, result);
    context.stack.pop_back();
  }

  template <typename T, typename Convert>
  void addVarints(std::vector<T> &list, size_t maxLength, Convert convert) {
    auto add = [&](uint64_t raw) {
      if (list.size() >= maxLength)
        fail("a list has more than " + std::to_string(maxLength) + " entries");
      list.push_back(convert(raw));
    };
    if (reader.has_wire_type(pbf_wire_type::varint))
      return add(reader.get_uint64());
    StringRef packed = numbers();
    const char *at = packed.begin();
    while (at != packed.end())
      add(protozero::decode_varint(&at, packed.end()));
  }

  template <typename T>
  void addFixed(std::vector<T> &list, pbf_wire_type single) {
    if (reader.has_wire_type(single)) {
      if constexpr (sizeof(T) == 4)
        list.push_back(reader.get_float());
      else
        list.push_back(reader.get_double());
      return;
    }
    StringRef packed = numbers();
    if (packed.size() % sizeof(T) != 0)
      fail("a packed list of " + std::to_string(packed.size()) +
           " bytes is not a whole number of elements");
    size_t old = list.size();
    list.resize(old + packed.size() / sizeof(T));
    if (!packed.empty())
      std::memcpy(list.data() + old, packed.data(), packed.size());
  }

  StringRef numbers() {
    expect(pbf_wire_type::length_delimited, "numbers");
    auto view = reader.get_view();
    return StringRef(view.data(), view.size());
  }

  pbf_reader reader;
  Context &context;
};

} // namespace fusec::onnx::wire

#endif // FUSEC_LIB_FRONTEND_ONNX_WIRE_H
