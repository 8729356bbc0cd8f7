//===- Operator.h - importing one node --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operator import is a function `void(Operator &)` in a registry keyed by
// name: it reads inputs and attributes, builds with the Emitter and sets
// outputs. Failures are latched by the Emitter; whatever an import forgets (an
// attribute that it never asked for, an output that it never set) is a failure
// too, so nothing in a file is ignored silently.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_OPERATOR_H
#define FUSEC_LIB_FRONTEND_ONNX_OPERATOR_H

#include "Emitter.h"

namespace fusec::onnx::importer {

class Importer;
struct Scope;

/// The attributes of the function call that a node is in, resolved; null
/// outside functions.
using AttributeScope = llvm::StringMap<const onnx::Attribute *>;

/// One node during import. Getters report what is wrong and return a neutral
/// value.
class Operator {
public:
  Operator(Importer &importer, Emitter &emit, Scope &scope, const Node &node,
           int64_t opset, const AttributeScope *attributes);

  Emitter &emit;
  /// Version of the node's operator set that the model (or function) imports.
  const int64_t opset;

  //--- Inputs and outputs --------------------------------------------------//

  size_t inputCount() const { return node.inputs.size(); }
  /// False for omitted optional inputs; marks input i as known.
  bool hasInput(size_t i);
  /// Input i, required.
  Val in(size_t i);
  /// All inputs, all required; at least one.
  llvm::SmallVector<Val> allInputs();
  /// The integers of input i, which must be known and of rank 0 or 1.
  std::optional<Dims> constInts(size_t i);
  /// The one integer of input i, which must be known.
  std::optional<int64_t> constInt(size_t i);

  size_t outputCount() const { return node.outputs.size(); }
  bool hasOutput(size_t i) const;
  void out(size_t i, Val val);
  void out(Val val) { out(0, std::move(val)); }

  //--- Attributes ----------------------------------------------------------//

  /// The attribute, or null; marks it as understood.
  const onnx::Attribute *attribute(llvm::StringRef name);
  int64_t intAttr(llvm::StringRef name, int64_t otherwise);
  double floatAttr(llvm::StringRef name, float otherwise);
  std::string stringAttr(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<Dims> intsAttr(llvm::StringRef name);
  std::optional<std::vector<float>> floatsAttr(llvm::StringRef name);
  std::optional<std::vector<std::string>> stringsAttr(llvm::StringRef name);
  /// The dtype named by an integer attribute.
  DType dtypeAttr(llvm::StringRef name, DType otherwise);
  /// Attributes without influence on inference.
  void ignore(std::initializer_list<llvm::StringRef> names);

  //--- Checks --------------------------------------------------------------//

  Val fail(const llvm::Twine &message) { return emit.fail(message); }
  Val unsupported(const llvm::Twine &message) {
    return emit.unsupported(message);
  }
  bool failed() const { return emit.failed(); }
  /// Fails unless `condition`; returns it.
  bool require(bool condition, const llvm::Twine &message);
  /// The same for conditions that fusec makes, not the format.
  bool requireSupport(bool condition, const llvm::Twine &message);
  /// `axis` in [0, rank) (or [0, rank] with `inclusive`), counted from the end
  /// if negative.
  std::optional<int64_t> axis(int64_t axis, int64_t rank,
                              bool inclusive = false);
  /// Distinct axes, in the order given.
  std::optional<Dims> axes(DimsRef axes, int64_t rank);
  /// Axes from attribute `axes` before opset `inputSince`, from input
  /// `input` since then; nothing if absent.
  std::optional<Dims> axesArgument(size_t input, int64_t inputSince);

  /// Decodes the tensor of an attribute.
  Val tensor(const onnx::Tensor &tensor);
  /// Imports a branch in the node's scope, with `inputs` as its inputs, and
  /// returns its outputs.
  llvm::SmallVector<Val> importBranch(const onnx::Graph &graph,
                                      llvm::ArrayRef<Val> inputs);

  /// Reports unread attributes, inputs that nobody asked for (of another
  /// version of the operator), and unset outputs.
  void finish();

  const Node &node;

private:
  bool isGiven(size_t i) const;
  const onnx::Attribute *typed(llvm::StringRef name, AttributeType type);

  Importer &importer;
  Scope &scope;
  const AttributeScope *scopeAttributes;
  llvm::SmallVector<bool> understood;
  /// Inputs below this were asked for.
  size_t known = 0;
  llvm::SmallVector<Val> outputs;
};

using ImportFunction = void (*)(Operator &);

/// The imports by operator name; those of other domains than the default are
/// "DOMAIN.NAME".
class Registry {
public:
  static const Registry &get();
  /// Null if there is none.
  ImportFunction find(llvm::StringRef domain, llvm::StringRef name) const;
  std::vector<llvm::StringRef> names() const;

  void add(llvm::StringRef name, ImportFunction function) {
    functions[name] = function;
  }

private:
  Registry();
  llvm::StringMap<ImportFunction> functions;
};

// One function a family, in the file of that name.
void addAttention(Registry &registry);
void addElementwise(Registry &registry);
void addActivations(Registry &registry);
void addShape(Registry &registry);
void addSlicing(Registry &registry);
void addGather(Registry &registry);
void addReductions(Registry &registry);
void addPooling(Registry &registry);
void addConvolution(Registry &registry);
void addMatMul(Registry &registry);
void addNormalization(Registry &registry);
void addQuantization(Registry &registry);
void addResize(Registry &registry);
void addContrib(Registry &registry);
void addControl(Registry &registry);
void addEinsum(Registry &registry);
void addSorting(Registry &registry);
void addSpectral(Registry &registry);
void addLoss(Registry &registry);
void addRecurrent(Registry &registry);
void addSampling(Registry &registry);
void addTraining(Registry &registry);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_OPERATOR_H
