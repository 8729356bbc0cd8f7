//===- Operator.cpp - importing one node ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"
#include "Importer.h"

#include "fusec/Frontend/Onnx/TensorData.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using llvm::StringRef;

Operator::Operator(Importer &importer, Emitter &emit, Scope &scope,
                   const Node &node, int64_t opset,
                   const AttributeScope *attributes)
    : emit(emit), opset(opset), node(node), importer(importer), scope(scope),
      scopeAttributes(attributes), understood(node.attributes.size(), false),
      outputs(node.outputs.size()) {}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

bool Operator::hasInput(size_t i) {
  known = std::max(known, i + 1);
  return isGiven(i);
}

bool Operator::isGiven(size_t i) const {
  if (i >= node.inputs.size() || node.inputs[i].empty())
    return false;
  // Inside a function: an input that the call omitted.
  const Val *val = scope.find(node.inputs[i]);
  return !val || *val;
}

Val Operator::in(size_t i) {
  if (failed())
    return {};
  if (!hasInput(i))
    return fail("input " + llvm::Twine(i) + " is missing");
  if (const Val *val = scope.find(node.inputs[i]))
    return *val;
  return fail("input " + quoted(node.inputs[i]) +
              " is not defined before the node");
}

llvm::SmallVector<Val> Operator::allInputs() {
  llvm::SmallVector<Val> vals;
  for (size_t i = 0, e = std::max<size_t>(inputCount(), 1); i < e; ++i)
    vals.push_back(in(i));
  return vals;
}

std::optional<Dims> Operator::constInts(size_t i) {
  Val val = in(i);
  if (!val)
    return std::nullopt;
  if (!requireSupport(val.constant != nullptr,
                      "input " + llvm::Twine(i) + " (" +
                          quoted(node.inputs[i]) +
                          ") must be known at import; bind it to a value") ||
      !require(val.rank() <= 1 && !isFloat(val.dtype),
               "expected integers of rank 0 or 1 as input " + llvm::Twine(i) +
                   ", found " + name(val.dtype) + describe(val.shape)) ||
      !requireSupport(val.elements() <= 4096,
                      "input " + llvm::Twine(i) + " has too many elements"))
    return std::nullopt;
  Dims out;
  for (int64_t k = 0, e = val.elements(); k < e; ++k)
    out.push_back(val.constant->getI64(k));
  return out;
}

std::optional<int64_t> Operator::constInt(size_t i) {
  std::optional<Dims> ints = constInts(i);
  if (!ints || !require(ints->size() == 1,
                        "expected one integer as input " + llvm::Twine(i)))
    return std::nullopt;
  return ints->front();
}

bool Operator::hasOutput(size_t i) const {
  return i < node.outputs.size() && !node.outputs[i].empty();
}

void Operator::out(size_t i, Val val) {
  if (val && hasOutput(i))
    outputs[i] = std::move(val);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const Attribute *Operator::attribute(StringRef name) {
  const Attribute *found = nullptr;
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    if (node.attributes[i].name != name)
      continue;
    if (!require(!found, "attribute " + quoted(name) + " is given twice"))
      return nullptr;
    found = &node.attributes[i];
    understood[i] = true;
  }
  if (!found || found->refName.empty())
    return found;
  if (!require(scopeAttributes != nullptr, "attribute " + quoted(name) +
                                               " refers to a function's " +
                                               "attribute outside a function"))
    return nullptr;
  return scopeAttributes->lookup(found->refName);
}

static StringRef typeName(AttributeType type) {
  static constexpr StringRef kNames[] = {
      "undefined",      "float",   "int",    "string",
      "tensor",         "graph",   "floats", "ints",
      "strings",        "tensors", "graphs", "sparse tensor",
      "sparse tensors", "type",    "types"};
  auto index = static_cast<uint32_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

const Attribute *Operator::typed(StringRef name, AttributeType type) {
  const Attribute *a = attribute(name);
  if (!a || require(a->type == type, "expected attribute " + quoted(name) +
                                         " of type " + typeName(type) +
                                         ", found " + typeName(a->type)))
    return a;
  return nullptr;
}

int64_t Operator::intAttr(StringRef name, int64_t otherwise) {
  const Attribute *a = typed(name, AttributeType::Int);
  return a ? a->i : otherwise;
}

double Operator::floatAttr(StringRef name, float otherwise) {
  const Attribute *a = typed(name, AttributeType::Float);
  return a ? a->f : otherwise;
}

std::string Operator::stringAttr(StringRef name, StringRef otherwise) {
  const Attribute *a = typed(name, AttributeType::String);
  return a ? a->s.str() : otherwise.str();
}

std::optional<Dims> Operator::intsAttr(StringRef name) {
  const Attribute *a = typed(name, AttributeType::Ints);
  if (!a ||
      !requireSupport(a->ints.size() <= 4096,
                      "attribute " + quoted(name) + " has too many elements"))
    return std::nullopt;
  return Dims(a->ints.begin(), a->ints.end());
}

std::optional<std::vector<float>> Operator::floatsAttr(StringRef name) {
  const Attribute *a = typed(name, AttributeType::Floats);
  return a ? std::optional(a->floats) : std::nullopt;
}

std::optional<std::vector<std::string>> Operator::stringsAttr(StringRef name) {
  const Attribute *a = typed(name, AttributeType::Strings);
  if (!a)
    return std::nullopt;
  std::vector<std::string> texts;
  for (StringRef text : a->strings)
    texts.push_back(text.str());
  return texts;
}

DType Operator::dtypeAttr(StringRef name, DType otherwise) {
  const Attribute *a = typed(name, AttributeType::Int);
  if (!a)
    return otherwise;
  if (!require(a->i >= 0 && a->i < 1000,
               "unknown element type " + llvm::Twine(a->i)))
    return otherwise;
  return emit.dtype(static_cast<DataType>(a->i), "").value_or(otherwise);
}

void Operator::ignore(std::initializer_list<StringRef> names) {
  for (StringRef name : names)
    attribute(name);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool Operator::require(bool condition, const llvm::Twine &message) {
  if (!condition)
    fail(message);
  return condition && !failed();
}

bool Operator::requireSupport(bool condition, const llvm::Twine &message) {
  if (!condition)
    unsupported(message);
  return condition && !failed();
}

std::optional<int64_t> Operator::axis(int64_t axis, int64_t rank,
                                      bool inclusive) {
  int64_t end = rank + (inclusive ? 1 : 0);
  if (!require(axis >= -rank && axis < end, "axis " + llvm::Twine(axis) +
                                                " is out of range for rank " +
                                                llvm::Twine(rank)))
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::optional<Dims> Operator::axes(DimsRef given, int64_t rank) {
  Dims out;
  for (int64_t a : given) {
    std::optional<int64_t> normal = axis(a, rank);
    if (!normal || !require(!llvm::is_contained(out, *normal),
                            "axis " + llvm::Twine(a) + " is given twice"))
      return std::nullopt;
    out.push_back(*normal);
  }
  return out;
}

std::optional<Dims> Operator::axesArgument(size_t input, int64_t inputSince) {
  if (opset < inputSince)
    return intsAttr("axes");
  return hasInput(input) ? constInts(input) : std::nullopt;
}

Val Operator::tensor(const Tensor &tensor) {
  if (failed())
    return {};
  return importer.decode(tensor);
}

llvm::SmallVector<Val> Operator::importBranch(const Graph &graph,
                                              llvm::ArrayRef<Val> inputs) {
  return importer.importBranch(graph, inputs, scope, scopeAttributes);
}

void Operator::finish() {
  if (failed())
    return;
  for (size_t i = 0; i < understood.size(); ++i)
    if (!understood[i]) {
      unsupported("unsupported attribute " + quoted(node.attributes[i].name));
      return;
    }
  for (size_t i = known; i < node.inputs.size(); ++i)
    if (!require(!isGiven(i), "in opset " + llvm::Twine(opset) +
                                  " expected at most " + llvm::Twine(known) +
                                  " inputs, found input " + llvm::Twine(i) +
                                  " (" + quoted(node.inputs[i]) + ")"))
      return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!hasOutput(i))
      continue;
    if (!outputs[i]) {
      unsupported("output " + llvm::Twine(i) + " is not supported");
      return;
    }
    scope.define(node.outputs[i], outputs[i], emit);
  }
}
