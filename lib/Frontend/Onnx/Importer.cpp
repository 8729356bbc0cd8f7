//===- Importer.cpp - from Model to a function of graph ops ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. Operator sets and functions are collected and checked.
// 2. Inputs become arguments (or bound constants), initializers constants that
//    are made into ops only where something uses them.
// 3. Nodes are imported in topological order, which is nearly always the
//    file's; a use before its definition is an error.
// 4. Outputs become results and the module is verified.
//===----------------------------------------------------------------------===//
#include "Importer.h"
#include "NodeOrder.h"

#include "fusec/Frontend/Onnx/TensorData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

const Val *Scope::find(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->parent) {
    auto found = scope->values.find(name);
    if (found != scope->values.end())
      return &found->second;
  }
  return nullptr;
}

void Scope::define(StringRef name, Val val, Emitter &emit) {
  if (!values.try_emplace(name, std::move(val)).second)
    emit.fail("the name " + quoted(name) + " is defined twice");
}

//===----------------------------------------------------------------------===//
// The model as a whole
//===----------------------------------------------------------------------===//

Importer::Importer(const Model &model, mlir::MLIRContext *context,
                   const ImportOptions &options)
    : model(model), options(options), builder(context), emit(builder, options) {
  enterModel();
}

static StringRef normalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

bool Importer::collectOpsets(llvm::ArrayRef<OpsetId> ids, Opsets &out) {
  for (const OpsetId &id : ids) {
    StringRef domain = normalDomain(id.domain);
    if (!out.try_emplace(domain, id.version).second)
      return emit
          .fail("operator set " + quoted(id.domain) + " is imported twice")
          .valid;
    if (id.version < 1)
      return emit
          .fail("operator set " + quoted(id.domain) + ": expected a positive " +
                "version, found " + llvm::Twine(id.version))
          .valid;
    if (domain.empty() &&
        (id.version < kOldestOpset || id.version > kNewestOpset))
      return emit
          .unsupported("unsupported opset version " + llvm::Twine(id.version) +
                       ": expected " + llvm::Twine(kOldestOpset) + " to " +
                       llvm::Twine(kNewestOpset))
          .valid;
  }
  return true;
}

/// What a node calls a function by.
static std::string functionKey(StringRef domain, StringRef name,
                               StringRef overload) {
  return (normalDomain(domain) + llvm::Twine('\0') + name + llvm::Twine('\0') +
          overload)
      .str();
}

bool Importer::collectFunctions() {
  for (const Function &f : model.functions)
    if (!functions.try_emplace(functionKey(f.domain, f.name, f.overload), &f)
             .second)
      return emit.fail("function " + quoted(f.name) + " is defined twice")
          .valid;
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp> Importer::run() {
  if (!collectOpsets(model.opsets, modelOpsets) || !collectFunctions())
    return {};
  mlir::Location loc = builder.getUnknownLoc();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = mlir::func::FuncOp::create(builder, loc, options.functionName,
                                             builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());

  Scope scope;
  if (!addInputs(scope, function) || !addInitializers(model.graph, scope) ||
      !importNodes(model.graph.nodes, scope, modelOpsets, nullptr) ||
      !finishFunction(function, scope) || mlir::failed(mlir::verify(*module)))
    return {};
  return module;
}

//===----------------------------------------------------------------------===//
// Inputs, initializers, outputs
//===----------------------------------------------------------------------===//

Val Importer::decode(const Tensor &tensor) {
  if (!emit.dtype(tensor.dataType, "tensor " + quoted(tensor.name) + ": "))
    return {};
  TensorDataOptions data;
  data.folder = model.folder;
  data.maxBytes = options.maxTensorBytes;
  data.allowHardLinks = options.allowHardLinks;
  data.owner = model.buffer;
  auto host = decodeTensor(tensor, data);
  if (!host)
    return emit.fail(llvm::toString(host.takeError()));
  return emit.fromConstant(std::move(*host));
}

bool Importer::addInitializers(const Graph &graph, Scope &scope) {
  if (!graph.sparseInitializers.empty())
    return emit.unsupported("sparse initializers are not supported").valid;
  for (const Tensor &tensor : graph.initializers) {
    if (tensor.name.empty())
      return emit.fail("an initializer has no name").valid;
    // An input that the caller bound keeps that value; the initializer is
    // only its default.
    if (options.boundInputs.contains(tensor.name) && !scope.parent &&
        scope.values.contains(tensor.name))
      continue;
    Val val = decode(tensor);
    if (!val)
      return false;
    scope.define(tensor.name, std::move(val), emit);
  }
  return !emit.failed();
}

std::optional<int64_t> Importer::inputDim(const ValueInfo &input, size_t d,
                                          const std::vector<int64_t> *given) {
  const Dimension &dim = (*input.type.shape)[d];
  std::optional<int64_t> fixed = dim.value;
  if (!fixed && !dim.symbol.empty()) {
    auto bound = options.symbols.find(dim.symbol);
    if (bound != options.symbols.end())
      fixed = bound->second;
  }
  if (fixed && *fixed < 0)
    fixed.reset(); // some exporters write -1 for "unknown"
  if (!given) {
    if (!fixed)
      emit.unsupported(
          "dimension " + llvm::Twine(d) + " (" + quoted(dim.symbol) +
          ") of input " + quoted(input.name) +
          " is dynamic; give the input's shape or the symbol's size");
    return fixed;
  }
  if (fixed && *fixed != (*given)[d]) {
    emit.fail("dimension " + llvm::Twine(d) + " of input " +
              quoted(input.name) + ": expected " + llvm::Twine(*fixed) +
              ", found " + llvm::Twine((*given)[d]));
    return std::nullopt;
  }
  return (*given)[d];
}

bool Importer::requireTensor(const ValueInfo &input) {
  std::string name = "input " + quoted(input.name);
  if (input.type.kind == Type::Kind::None)
    emit.fail(name + " has no type");
  else if (input.type.kind != Type::Kind::Tensor)
    emit.unsupported(name + " is not a tensor");
  return !emit.failed();
}

mlir::RankedTensorType Importer::inputType(const ValueInfo &input) {
  if (!requireTensor(input))
    return {};
  std::optional<DType> dtype =
      emit.dtype(input.type.elementType, "input " + quoted(input.name) + ": ");
  if (!dtype)
    return {};
  auto found = options.inputShapes.find(input.name);
  const std::vector<int64_t> *given =
      found == options.inputShapes.end() ? nullptr : &found->second;
  Dims shape;
  if (!input.type.shape) {
    if (!given) {
      emit.unsupported("input " + quoted(input.name) +
                       " has no shape; give the input's shape");
      return {};
    }
    shape.assign(given->begin(), given->end());
  } else if (given && given->size() != input.type.shape->size()) {
    emit.fail("input " + quoted(input.name) + ": expected rank " +
              llvm::Twine(input.type.shape->size()) + ", found shape " +
              describe(*given));
    return {};
  } else {
    for (size_t d = 0; d < input.type.shape->size(); ++d) {
      std::optional<int64_t> size = inputDim(input, d, given);
      if (!size)
        return {};
      shape.push_back(*size);
    }
  }
  auto bytes = byteCount(*dtype, shape, options.maxTensorBytes);
  if (!bytes) {
    emit.fail("input " + quoted(input.name) + ": " +
              llvm::toString(bytes.takeError()));
    return {};
  }
  return mlir::RankedTensorType::get(
      shape, graph::fromDType(builder.getContext(), *dtype));
}

bool Importer::checkBinding(const ValueInfo &input, const HostTensor &bound) {
  if (!requireTensor(input))
    return false;
  auto dtype = onnx::toDType(input.type.elementType);
  bool agrees = dtype && *dtype == bound.dtype;
  if (!dtype)
    llvm::consumeError(dtype.takeError());
  if (agrees && input.type.shape) {
    agrees = input.type.shape->size() == bound.shape.size();
    for (size_t d = 0; agrees && d < bound.shape.size(); ++d) {
      std::optional<int64_t> fixed = (*input.type.shape)[d].value;
      agrees = !fixed || *fixed < 0 || *fixed == bound.shape[d];
    }
  }
  if (agrees)
    return true;
  return emit
      .fail("input " + quoted(input.name) + " is bound to " +
            name(bound.dtype) + describe(bound.shape) +
            ", which does not fit its type")
      .valid;
}

bool Importer::addInputs(Scope &scope, mlir::func::FuncOp function) {
  llvm::DenseSet<StringRef> initialized;
  for (const Tensor &tensor : model.graph.initializers)
    initialized.insert(tensor.name);
  for (const ValueInfo &input : model.graph.inputs) {
    if (input.name.empty())
      return emit.fail("an input has no name").valid;
    auto bound = options.boundInputs.find(input.name);
    if (bound != options.boundInputs.end()) {
      if (!checkBinding(input, bound->second))
        return false;
      scope.define(input.name, emit.fromConstant(bound->second), emit);
      continue;
    }
    if (initialized.contains(input.name))
      continue; // a default that nobody overrides
    mlir::RankedTensorType type = inputType(input);
    if (!type)
      return false;
    unsigned index = function.getNumArguments();
    auto nameAttr = builder.getDictionaryAttr(
        builder.getNamedAttr("graph.name", builder.getStringAttr(input.name)));
    mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(input.name));
    if (mlir::failed(function.insertArgument(index, type, nameAttr, loc)))
      return emit.fail("cannot add input " + quoted(input.name)).valid;
    scope.define(input.name, emit.fromValue(function.getArgument(index)), emit);
    if (emit.failed())
      return false;
  }
  return !emit.failed();
}

bool Importer::finishFunction(mlir::func::FuncOp function, const Scope &scope) {
  enterModel();
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> names;
  for (const ValueInfo &output : model.graph.outputs) {
    const Val *val = scope.find(output.name);
    if (!val || !*val)
      return emit.fail("output " + quoted(output.name) + " is not defined")
          .valid;
    if (output.type.kind == Type::Kind::Tensor &&
        output.type.elementType != DataType::Undefined) {
      auto dtype = onnx::toDType(output.type.elementType);
      bool agrees = dtype && *dtype == val->dtype;
      if (!dtype)
        llvm::consumeError(dtype.takeError());
      if (!agrees)
        return emit
            .fail("output " + quoted(output.name) + ": expected " +
                  dataTypeName(output.type.elementType) + ", found " +
                  name(val->dtype))
            .valid;
    }
    results.push_back(emit.use(*val));
    names.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        "graph.name", builder.getStringAttr(output.name))));
  }
  mlir::func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setType(builder.getFunctionType(
      function.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  if (!names.empty())
    function.setAllResultAttrs(names);
  return true;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool Importer::importNodes(llvm::ArrayRef<Node> nodes, Scope &scope,
                           const Opsets &opsets,
                           const AttributeScope *attributes) {
  const Opsets *before = currentOpsets;
  currentOpsets = &opsets;
  for (size_t index : nodeOrder(nodes)) {
    const Node &node = nodes[index];
    std::string label =
        ("node " + llvm::Twine(index) + " " + quoted(node.name) + " (" +
         quoted(node.opType).substr(1))
            .str();
    label.back() = ')';
    emit.enterNode(mlir::NameLoc::get(builder.getStringAttr(
                       node.name.empty() ? node.opType : node.name)),
                   label);
    if (++importedNodes > options.maxNodes)
      emit.unsupported("more than " + llvm::Twine(options.maxNodes) + " nodes");
    else
      importNode(node, scope, opsets, attributes);
    if (emit.failed())
      return false;
  }
  currentOpsets = before;
  return true;
}

void Importer::importNode(const Node &node, Scope &scope, const Opsets &opsets,
                          const AttributeScope *attributes) {
  auto callee =
      functions.find(functionKey(node.domain, node.opType, node.overload));
  if (callee != functions.end())
    return callFunction(node, *callee->second, scope, attributes);

  StringRef domain = normalDomain(node.domain);
  auto version = opsets.find(domain);
  ImportFunction import = Registry::get().find(domain, node.opType);
  if (version == opsets.end()) {
    emit.fail("domain " + quoted(node.domain) + " is not imported");
    return;
  }
  if (!import) {
    emit.unsupported("unsupported operator " + quoted(node.opType) +
                     " (domain " + quoted(node.domain) + ", opset " +
                     llvm::Twine(version->second) + ")");
    return;
  }
  Operator op(*this, emit, scope, node, version->second, attributes);
  import(op);
  op.finish();
}

llvm::SmallVector<Val>
Importer::importBranch(const Graph &graph, llvm::ArrayRef<Val> inputs,
                       const Scope &around, const AttributeScope *attributes) {
  mlir::Location loc = emit.location();
  std::string prefix = emit.messagePrefix();
  Scope scope;
  scope.parent = &around;
  if (graph.inputs.size() != inputs.size()) {
    emit.fail("the body has " + llvm::Twine(graph.inputs.size()) +
              " inputs, expected " + llvm::Twine(inputs.size()));
    return {};
  }
  for (auto [input, val] : llvm::zip(graph.inputs, inputs))
    scope.define(input.name, val, emit);
  if (!addInitializers(graph, scope) ||
      !importNodes(graph.nodes, scope, *currentOpsets, attributes))
    return {};
  emit.enterNode(loc, prefix);
  llvm::SmallVector<Val> outputs;
  for (const ValueInfo &output : graph.outputs) {
    const Val *val = scope.find(output.name);
    if (!val) {
      emit.fail("output " + quoted(output.name) + " is not defined");
      return {};
    }
    outputs.push_back(*val);
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool Importer::resolveAttributes(const Node &node, const Function &callee,
                                 const AttributeScope *outer,
                                 AttributeScope &inner) {
  for (const Attribute &a : callee.attributeDefaults)
    inner[a.name] = &a;
  for (const Attribute &a : node.attributes) {
    bool known =
        inner.contains(a.name) || llvm::is_contained(callee.attributes, a.name);
    if (!known)
      return emit
          .fail("function " + quoted(callee.name) + " has no attribute " +
                quoted(a.name))
          .valid;
    const Attribute *value = &a;
    if (!a.refName.empty())
      value = outer ? outer->lookup(a.refName) : nullptr;
    if (value)
      inner[a.name] = value;
  }
  return true;
}

void Importer::callFunction(const Node &node, const Function &callee,
                            Scope &scope, const AttributeScope *attributes) {
  if (llvm::is_contained(callStack, &callee)) {
    emit.fail("function " + quoted(callee.name) + " calls itself");
    return;
  }
  if (callStack.size() >= options.maxFunctionDepth) {
    emit.unsupported("functions are nested more than " +
                     llvm::Twine(options.maxFunctionDepth) + " deep");
    return;
  }
  if (node.inputs.size() > callee.inputs.size() ||
      node.outputs.size() > callee.outputs.size()) {
    emit.fail("function " + quoted(callee.name) + " has " +
              llvm::Twine(callee.inputs.size()) + " inputs and " +
              llvm::Twine(callee.outputs.size()) + " outputs");
    return;
  }
  Scope inner;
  for (size_t i = 0; i < callee.inputs.size(); ++i) {
    if (i >= node.inputs.size() || node.inputs[i].empty()) {
      inner.define(callee.inputs[i], Val(), emit);
      continue;
    }
    const Val *val = scope.find(node.inputs[i]);
    if (!val) {
      emit.fail("input " + quoted(node.inputs[i]) +
                " is not defined before the node");
      return;
    }
    inner.define(callee.inputs[i], *val, emit);
  }
  AttributeScope innerAttributes;
  Opsets opsets;
  if (emit.failed() ||
      !resolveAttributes(node, callee, attributes, innerAttributes) ||
      !collectOpsets(callee.opsets, opsets))
    return;

  mlir::Location loc = emit.location();
  std::string prefix = emit.messagePrefix();
  callStack.push_back(&callee);
  bool imported = importNodes(callee.nodes, inner, opsets, &innerAttributes);
  callStack.pop_back();
  if (!imported)
    return;
  emit.enterNode(loc, prefix);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    const Val *val = inner.find(callee.outputs[i]);
    if (!val || !*val) {
      emit.fail("output " + quoted(callee.outputs[i]) + " is not defined");
      return;
    }
    scope.define(node.outputs[i], *val, emit);
  }
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

mlir::OwningOpRef<mlir::ModuleOp>
onnx::importModel(const Model &model, mlir::MLIRContext *context,
                  const ImportOptions &options, ImportFailure *failure) {
  context->loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  Importer importer(model, context, options);
  mlir::OwningOpRef<mlir::ModuleOp> module = importer.run();
  if (failure)
    *failure = importer.failure(bool(module));
  return module;
}

std::vector<StringRef> onnx::supportedOperators() {
  return Registry::get().names();
}
