//===- BugCase.cpp - a bug report as a few lines of text ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BugCase.h"
#include "../Frontend/OnnxWriter.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <random>

using namespace fusec;
using namespace fusec::bugs;
using llvm::StringRef;

namespace {

using Lines = std::vector<std::string>;

llvm::Error bad(const llvm::Twine &what, StringRef where) {
  return llvm::createStringError(what + " in '" + where + "'");
}

int onnxType(DType type) {
  switch (type) {
  case DType::F64:
    return 11;
  case DType::F32:
    return 1;
  case DType::F16:
    return 10;
  case DType::BF16:
    return 16;
  case DType::F8E4M3:
    return 17;
  case DType::F8E5M2:
    return 19;
  case DType::I64:
    return 7;
  case DType::I32:
    return 6;
  case DType::I16:
    return 5;
  case DType::I8:
    return 3;
  case DType::U64:
    return 13;
  case DType::U32:
    return 12;
  case DType::U16:
    return 4;
  case DType::U8:
    return 2;
  case DType::Bool:
    return 9;
  case DType::I4:
  case DType::U4:
    break;
  }
  return 0;
}

/// One number as text, with a sign, "inf" and "nan" for floats.
llvm::Error setElement(HostTensor &tensor, int64_t index, StringRef text) {
  std::string copy = text.str();
  char *end = nullptr;
  if (isFloat(tensor.dtype))
    tensor.setF64(index, std::strtod(copy.c_str(), &end));
  else if (text.starts_with("-"))
    tensor.setI64(index, std::strtoll(copy.c_str(), &end, 0));
  else
    tensor.setU64(index, std::strtoull(copy.c_str(), &end, 0));
  if (copy.empty() || *end)
    return bad("expected a number", text);
  return llvm::Error::success();
}

double randomValue(std::mt19937_64 &random, DType type) {
  double unit = double(random() >> 11) * 0x1p-53;
  return isFloat(type) ? unit * 4 - 2
         : isSignedInt(type) || type == DType::Bool
             ? double(int64_t(random() % 7) - 3)
             : double(random() % 7);
}

/// Fills in "arange", "random", or numbers, each with "*COUNT" behind it.
llvm::Error fill(HostTensor &tensor, StringRef text) {
  int64_t count = tensor.elements(), next = 0;
  std::mt19937_64 random(count * 31 + unsigned(tensor.dtype));
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  for (StringRef word : words) {
    if (word == "arange" || word == "random") {
      for (; next < count; ++next)
        word == "arange"
            ? tensor.setF64(next, double(next))
            : tensor.setF64(next, randomValue(random, tensor.dtype));
      continue;
    }
    auto [value, times] = word.split('*');
    int64_t repeat = 1;
    if (!times.empty() && times.getAsInteger(10, repeat))
      return bad("expected a count", word);
    for (; repeat > 0; --repeat) {
      if (next == count)
        return bad("expected " + llvm::Twine(count) + " values, found more",
                   text);
      if (llvm::Error error = setElement(tensor, next++, value))
        return error;
    }
  }
  if (next != count)
    return bad("expected " + llvm::Twine(count) + " values, found " +
                   llvm::Twine(next),
               text);
  return llvm::Error::success();
}

/// "f32[2,3]".
llvm::Expected<HostTensor> parseType(StringRef text) {
  auto [typeName, rest] = text.split('[');
  std::optional<DType> dtype = parseDType(typeName);
  if (!dtype || !rest.consume_back("]"))
    return bad("expected a type such as f32[2,3]", text);
  std::vector<int64_t> shape;
  llvm::SmallVector<StringRef> dims;
  rest.split(dims, ',', -1, false);
  for (StringRef dim : dims)
    if (dim.trim().getAsInteger(10, shape.emplace_back()))
      return bad("expected a number as dimension", text);
  return HostTensor::create(*dtype, shape);
}

/// "f32[2] = 1 2".
llvm::Expected<HostTensor> parseTensor(StringRef type, StringRef values) {
  llvm::Expected<HostTensor> tensor = parseType(type.trim());
  if (!tensor)
    return tensor.takeError();
  if (llvm::Error error = fill(*tensor, values))
    return error;
  return tensor;
}

test::Proto toProto(const HostTensor &tensor, const std::string &name) {
  std::vector<char> raw(tensor.bytes->size());
  std::copy_n(reinterpret_cast<const char *>(tensor.data()), raw.size(),
              raw.begin());
  return test::rawTensor(tensor.shape, onnxType(tensor.dtype), raw, name);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Splits at commas outside of brackets.
llvm::SmallVector<StringRef> splitList(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    depth += (c == '[') - (c == ']');
    if (c == ',' && (!depth || i == text.size())) {
      StringRef part = text.slice(begin, i).trim();
      if (!part.empty())
        parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

/// "axis=1", "alpha=0.5", "axes=[0,1]", "mode=linear", "to=f16".
llvm::Expected<test::Proto> parseAttribute(StringRef text) {
  auto [nameRef, value] = text.split('=');
  std::string name = nameRef.str();
  int64_t integer;
  double real;
  if (value.consume_front("[")) {
    value.consume_back("]");
    std::vector<int64_t> integers;
    std::vector<float> reals;
    for (StringRef item : splitList(value)) {
      if (item.getAsDouble(real))
        return bad("expected a number", text);
      reals.push_back(real);
      if (!item.getAsInteger(10, integer))
        integers.push_back(integer);
    }
    return integers.size() == reals.size() ? test::intsAttr(name, integers)
                                           : test::floatsAttr(name, reals);
  }
  std::optional<DType> dtype = parseDType(value);
  if (dtype && (name == "to" || name == "dtype"))
    return test::intAttr(name, onnxType(*dtype));
  if (!value.getAsInteger(10, integer))
    return test::intAttr(name, integer);
  if (!value.getAsDouble(real))
    return test::floatAttr(name, real);
  return test::stringAttr(name, value.str());
}

/// A case under construction.
struct Builder {
  BugCase result;
  test::GraphSpec graph;
  std::vector<std::string> made;
  int64_t opset = 21;

  /// A name, "_" for none, or a constant: "i64[1 2]" is a vector, "f32:5" a
  /// scalar.
  llvm::Expected<std::string> operand(StringRef text) {
    if (text == "_")
      return std::string();
    size_t mark = text.find_first_of("[:");
    if (mark == StringRef::npos || !parseDType(text.substr(0, mark)))
      return text.str();
    StringRef values = text.substr(mark + 1);
    std::string type = text.substr(0, mark).str() + "[]";
    if (values.consume_back("]")) {
      llvm::SmallVector<StringRef> words;
      llvm::SplitString(values, words);
      type =
          text.substr(0, mark).str() + "[" + std::to_string(words.size()) + "]";
    }
    llvm::Expected<HostTensor> tensor = parseTensor(type, values);
    if (!tensor)
      return tensor.takeError();
    std::string name = "constant" + std::to_string(graph.initializers.size());
    graph.initializers.push_back(toProto(*tensor, name));
    return name;
  }

  /// "a, b = domain.Op(x, i64[1]) axis=1".
  llvm::Error node(StringRef line) {
    auto [results, call] = line.split(" = ");
    auto [callee, rest] = call.split('(');
    size_t close = rest.rfind(')');
    if (close == StringRef::npos)
      return bad("expected RESULTS = Op(OPERANDS) ATTRIBUTES", line);
    std::vector<std::string> inputs, outputs;
    for (StringRef text : splitList(results)) {
      outputs.push_back(text == "_" ? "" : text.str());
      if (text != "_")
        made.push_back(text.str());
    }
    for (StringRef text : splitList(rest.take_front(close))) {
      llvm::Expected<std::string> name = operand(text);
      if (!name)
        return name.takeError();
      inputs.push_back(*name);
    }
    std::vector<test::Proto> attributes;
    llvm::SmallVector<StringRef> words;
    llvm::SplitString(rest.substr(close + 1), words);
    for (StringRef word : words) {
      llvm::Expected<test::Proto> attribute = parseAttribute(word);
      if (!attribute)
        return attribute.takeError();
      attributes.push_back(*attribute);
    }
    auto [domain, op] = callee.trim().rsplit('.');
    if (op.empty())
      std::swap(domain, op);
    graph.nodes.push_back(
        test::node(op.str(), inputs, outputs, attributes, domain.str()));
    return llvm::Error::success();
  }

  /// "x f32[2] = 1 2" as an input of the run or of the file.
  llvm::Error value(StringRef line, bool isInput) {
    auto [left, values] = line.split(" =");
    auto [name, type] = left.trim().split(' ');
    llvm::Expected<HostTensor> tensor = parseTensor(type, values);
    if (!tensor)
      return tensor.takeError();
    if (!isInput) {
      graph.initializers.push_back(toProto(*tensor, name.str()));
      return llvm::Error::success();
    }
    graph.inputs.push_back(
        test::valueInfo(name.str(), onnxType(tensor->dtype), tensor->shape));
    result.inputs.emplace_back(name.str(), std::move(*tensor));
    return llvm::Error::success();
  }

  llvm::Error output(StringRef line) {
    auto [left, values] = line.split(" =");
    auto [name, type] = left.trim().split(' ');
    Expectation expectation{name.str(), std::nullopt};
    if (!type.empty()) {
      llvm::Expected<HostTensor> tensor = parseTensor(type, values);
      if (!tensor)
        return tensor.takeError();
      expectation.value = std::move(*tensor);
    }
    graph.outputs.push_back(test::Proto().text(1, expectation.name));
    result.outputs.push_back(std::move(expectation));
    return llvm::Error::success();
  }

  llvm::Error setting(StringRef key, StringRef value) {
    if (key == "opset" && !value.getAsInteger(10, opset))
      return llvm::Error::success();
    if (key == "kernels" && !value.getAsInteger(10, result.kernels.emplace()))
      return llvm::Error::success();
    if (key == "refused") {
      result.refusal = value.str();
      return llvm::Error::success();
    }
    if (key == "skip") {
      (value == "emulator" ? result.emulator
       : value == "fold"   ? result.fold
                           : result.expose) = false;
      return llvm::Error::success();
    }
    auto [relative, absolute] = value.split(' ');
    if (key == "within" && !relative.getAsDouble(result.relative) &&
        (absolute.empty() || !absolute.getAsDouble(result.absolute)))
      return llvm::Error::success();
    return bad("unknown line", (key + " " + value).str());
  }

  llvm::Error line(StringRef line) {
    auto [key, rest] = line.split(' ');
    if (key == "in" || key == "const")
      return value(rest, key == "in");
    if (key == "out")
      return output(rest);
    return line.contains('(') && line.contains(" = ") ? node(line)
                                                      : setting(key, rest);
  }

  BugCase finish() {
    result.bytes = test::model(graph.proto(), opset).bytes;
    for (const std::string &name : made)
      if (llvm::none_of(result.outputs,
                        [&](const Expectation &e) { return e.name == name; }))
        graph.outputs.push_back(test::Proto().text(1, name));
    result.exposedBytes = test::model(graph.proto(), opset).bytes;
    return std::move(result);
  }
};

//===----------------------------------------------------------------------===//
// Placeholders
//===----------------------------------------------------------------------===//

void replaceAll(std::string &text, StringRef from, StringRef to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

/// "{8192*3+1}" is computed, from left to right.
llvm::Error compute(std::string &line) {
  for (size_t open; (open = line.find('{')) != std::string::npos;) {
    size_t close = line.find('}', open);
    if (close == std::string::npos)
      return bad("expected '}'", line);
    StringRef text = StringRef(line).slice(open + 1, close);
    int64_t value = 0, operand;
    for (char op = '+'; !text.empty();) {
      size_t digits = std::min(text.find_first_of("+-*/"), text.size());
      if (text.take_front(digits).trim().getAsInteger(10, operand))
        return bad("expected a number", line);
      value = op == '+'   ? value + operand
              : op == '-' ? value - operand
              : op == '*' ? value * operand
                          : value / operand;
      text = text.drop_front(digits);
      op = text.empty() ? '+' : text.front();
      text = text.drop_front(text.empty() ? 0 : 1);
    }
    line.replace(open, close + 1 - open, std::to_string(value));
  }
  return llvm::Error::success();
}

/// Lines "vary $T a | b" multiply the case; each value is put in its place.
llvm::Error expand(const Lines &lines, const std::string &id,
                   const std::string &variant, std::vector<BugCase> &cases) {
  for (size_t i = 0; i < lines.size(); ++i) {
    StringRef line = lines[i];
    if (!line.consume_front("vary "))
      continue;
    auto [name, values] = line.split(' ');
    llvm::SmallVector<StringRef> choices;
    values.split(choices, '|');
    for (StringRef choice : choices) {
      Lines filled = lines;
      filled.erase(filled.begin() + i);
      for (std::string &text : filled)
        replaceAll(text, name, choice.trim());
      if (llvm::Error error = expand(filled, id,
                                     variant + (variant.empty() ? "" : " ") +
                                         choice.trim().str(),
                                     cases))
        return error;
    }
    return llvm::Error::success();
  }
  Builder builder;
  builder.result.id = id;
  builder.result.variant = variant;
  for (std::string text : lines) {
    if (llvm::Error error = compute(text))
      return error;
    if (llvm::Error error = builder.line(text))
      return llvm::joinErrors(bad("this line of " + id, text),
                              std::move(error));
  }
  cases.push_back(builder.finish());
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::map<std::string, std::vector<BugCase>>>
fusec::bugs::parseBugs(StringRef text) {
  std::map<std::string, std::vector<BugCase>> result;
  std::vector<std::pair<std::string, Lines>> entries;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    line = line.take_front(line.find('#')).trim();
    if (line.consume_front("== "))
      entries.emplace_back(line.split(' ').first.str(), Lines());
    else if (!line.empty() && entries.empty())
      return bad("expected '== ID what goes wrong'", line);
    else if (!line.empty())
      entries.back().second.push_back(line.str());
  }
  for (auto &[id, body] : entries) {
    size_t first = result[id].size();
    if (llvm::Error error = expand(body, id, "", result[id]))
      return error;
    result[id][first].first = true;
  }
  return result;
}
