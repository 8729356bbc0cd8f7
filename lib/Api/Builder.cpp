//===- Builder.cpp - making graph ops from the C API ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Builder.h"
#include "fusec/Reference/Attributes.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::api;
using session::quoted;

GraphMaker::GraphMaker(std::shared_ptr<const Settings> settings)
    : settings(std::move(settings)),
      model{session::createContext(), {}, {}, {}}, ops(model.context.get()),
      loc(ops.getUnknownLoc()) {
  model.module = ModuleOp::create(loc);
  ops.setInsertionPointToStart(model.module->getBody());
  function =
      func::FuncOp::create(ops, loc, "main", ops.getFunctionType({}, {}));
  ops.setInsertionPointToStart(function.addEntryBlock());
}

//===----------------------------------------------------------------------===//
// Failure
//===----------------------------------------------------------------------===//

Value GraphMaker::fail(const llvm::Twine &message) {
  if (hasFailed)
    return {};
  hasFailed = true;
  failure = scope.empty() ? "" : quoted(scope) + ": ";
  failure +=
      "op " + std::to_string(steps) + " (" + stepName + "): " + message.str();
  return {};
}

fusec_value GraphMaker::step(const char *name,
                             llvm::function_ref<Value()> body) {
  Value value;
  stepWithoutValue(name, [&] { value = body(); });
  if (!value || hasFailed)
    return FUSEC_NO_VALUE;
  values.push_back(value);
  return static_cast<fusec_value>(values.size());
}

void GraphMaker::stepWithoutValue(const char *name,
                                  llvm::function_ref<void()> body) {
  if (hasFailed)
    return;
  stepName = name;
  if (finished) {
    fail("the graph was finished before");
    return;
  }
  body();
  ++steps;
}

void GraphMaker::stepWithValues(
    const char *name, MutableArrayRef<fusec_value> results,
    llvm::function_ref<llvm::SmallVector<Value>()> body) {
  llvm::SmallVector<Value> made;
  stepWithoutValue(name, [&] { made = body(); });
  if (hasFailed || made.size() != results.size())
    return;
  for (auto [value, result] : llvm::zip(made, results)) {
    values.push_back(value);
    result = static_cast<fusec_value>(values.size());
  }
}

/// Runs `body` unless the handle is null; refused memory is latched.
static void guarded(fusec_builder *builder,
                    llvm::function_ref<void(GraphMaker &)> body) {
  if (!builder)
    return;
  fusec_error *error = guard([&]() -> fusec_error * {
    body(builder->builder);
    return nullptr;
  });
  if (!error)
    return;
  builder->builder.fail(fusec_error_message(error));
  fusec_error_free(error);
}

fusec_value api::buildStep(fusec_builder *builder, const char *name,
                           llvm::function_ref<Value(GraphMaker &)> body) {
  fusec_value result = FUSEC_NO_VALUE;
  guarded(builder, [&](GraphMaker &b) {
    result = b.step(name, [&] { return body(b); });
  });
  return result;
}

void api::buildSteps(
    fusec_builder *builder, const char *name, fusec_value *results,
    size_t count,
    llvm::function_ref<llvm::SmallVector<Value>(GraphMaker &)> body) {
  guarded(builder, [&](GraphMaker &b) {
    if (count && !results) {
      b.fail("expected room for " + llvm::Twine(count) +
             " results, found null");
      return;
    }
    MutableArrayRef<fusec_value> room(results, count);
    llvm::fill(room, FUSEC_NO_VALUE);
    b.stepWithValues(name, room, [&] { return body(b); });
  });
}

//===----------------------------------------------------------------------===//
// Values and types
//===----------------------------------------------------------------------===//

Value GraphMaker::use(fusec_value value) {
  if (value == FUSEC_NO_VALUE || value > values.size())
    return fail("operand " + llvm::Twine(value) +
                " is no value of this builder");
  if (!values[value - 1])
    return fail("operand " + llvm::Twine(value) +
                " is a value of a loop's body that has ended");
  return values[value - 1];
}

RankedTensorType GraphMaker::typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}
DimsRef GraphMaker::shapeOf(Value value) { return typeOf(value).getShape(); }
DType GraphMaker::dtypeOf(Value value) const {
  return *graph::toDType(typeOf(value).getElementType());
}

RankedTensorType GraphMaker::tensor(DType dtype, DimsRef shape) {
  auto bytes = byteCount(dtype, shape);
  if (!bytes) {
    fail(llvm::toString(bytes.takeError()));
    return {};
  }
  return RankedTensorType::get(shape, graph::fromDType(getContext(), dtype));
}
RankedTensorType GraphMaker::tensor(Type element, DimsRef shape) {
  return tensor(*graph::toDType(element), shape);
}

bool GraphMaker::checkDType(fusec_dtype dtype) {
  if (dtype >= FUSEC_F64 && dtype <= FUSEC_BOOL)
    return true;
  fail("expected an element type, 0 to 16, found " + llvm::Twine(dtype));
  return false;
}

bool GraphMaker::readShape(int32_t rank, const int64_t *shape, Dims &result) {
  if (rank < 0 || size_t(rank) > kMaxRank || (rank && !shape)) {
    fail("expected a rank of 0 to " + llvm::Twine(kMaxRank) +
         " and as many sizes, found rank " + llvm::Twine(rank) +
         (shape ? "" : " without sizes"));
    return false;
  }
  result.assign(shape, shape + rank);
  return true;
}

bool GraphMaker::readDim(int64_t dim, int64_t rank, int64_t &result) {
  result = dim < 0 ? dim + rank : dim;
  if (result >= 0 && result < rank)
    return true;
  fail("dimension " + llvm::Twine(dim) + " is out of range: the rank is " +
       llvm::Twine(rank));
  return false;
}

bool GraphMaker::readDims(const int32_t *dims, int32_t count, int64_t rank,
                          Dims &result) {
  if (count < 0 || count > rank || (count && !dims)) {
    fail("expected a list of at most " + llvm::Twine(rank) +
         " dimensions, found " + llvm::Twine(count) +
         (dims ? "" : " without a list"));
    return false;
  }
  for (int32_t i = 0; i < count; ++i) {
    int64_t dim;
    if (!readDim(dims[i], rank, dim))
      return false;
    if (llvm::is_contained(result, dim)) {
      fail("dimension " + llvm::Twine(dim) + " is named twice");
      return false;
    }
    result.push_back(dim);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Making ops
//===----------------------------------------------------------------------===//

Value GraphMaker::make(llvm::StringRef name, ValueRange operands,
                       RankedTensorType type,
                       ArrayRef<NamedAttribute> attributes) {
  if (!type || hasFailed)
    return {};
  driver::DiagnosticCollector diagnostics(getContext());
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(attributes);
  Operation *op = ops.create(state);
  if (succeeded(verify(op)))
    return op->getResult(0);
  op->erase();
  return fail(llvm::toString(diagnostics.take("the operands do not fit")));
}

Value GraphMaker::constant(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  return make("graph.constant", {}, type, attribute("value", value));
}

Value GraphMaker::scalar(DType dtype, double value) {
  auto tensor = HostTensor::create(dtype, {});
  if (!tensor)
    return fail(llvm::toString(tensor.takeError()));
  tensor->setF64(0, value);
  return constant(reference::toAttribute(*tensor, getContext()));
}

Value GraphMaker::broadcastTo(Value value, DimsRef shape) {
  if (!value || shapeOf(value) == shape)
    return value;
  size_t rank = shapeOf(value).size();
  if (rank > shape.size())
    return fail("cannot broadcast rank " + llvm::Twine(rank) + " to rank " +
                llvm::Twine(shape.size()));
  Dims dims;
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(shape.size() - rank + i);
  return make("graph.broadcast", value,
              tensor(typeOf(value).getElementType(), shape),
              attribute("dimensions", dims));
}

static std::string shapeText(DimsRef shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

bool GraphMaker::unify(MutableArrayRef<Value> operands) {
  size_t rank = 0;
  for (Value value : operands) {
    if (!value)
      return false;
    rank = std::max(rank, shapeOf(value).size());
  }
  Dims common(rank, 1);
  for (Value value : operands) {
    DimsRef shape = shapeOf(value);
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &size = common[rank - shape.size() + i];
      if (size == 1)
        size = shape[i];
      else if (shape[i] != 1 && shape[i] != size) {
        fail("shapes " + shapeText(shapeOf(operands.front())) + " and " +
             shapeText(shape) + " do not broadcast");
        return false;
      }
    }
  }
  for (Value &value : operands)
    if (!(value = broadcastTo(value, common)))
      return false;
  return true;
}

Value GraphMaker::reshape(Value value, DimsRef shape) {
  if (!value || shapeOf(value) == shape)
    return value;
  return make("graph.reshape", value,
              tensor(typeOf(value).getElementType(), shape));
}

Value GraphMaker::cast(Value value, DType dtype) {
  if (!value || dtypeOf(value) == dtype)
    return value;
  return make("graph.cast", value, tensor(dtype, shapeOf(value)));
}

//===----------------------------------------------------------------------===//
// Inputs, outputs, the graph
//===----------------------------------------------------------------------===//

/// Whether a name is given and new; latches otherwise.
static bool claimName(GraphMaker &b, llvm::StringSet<> &used, StringRef name) {
  if (name.empty()) {
    b.fail("expected a name, found none");
    return false;
  }
  if (used.insert(name).second)
    return true;
  b.fail("the name " + quoted(name) + " is used twice");
  return false;
}

Value GraphMaker::addInput(StringRef name, RankedTensorType type) {
  if (bodyDepth)
    return fail("inputs are made outside of the bodies of loops");
  if (!type || !claimName(*this, usedInputs, name))
    return {};
  inputNames.push_back(name.str());
  return function.getBody().front().addArgument(type, loc);
}

void GraphMaker::addOutput(StringRef name, Value value) {
  if (bodyDepth) {
    fail("outputs are marked outside of the bodies of loops");
    return;
  }
  if (!value || !claimName(*this, usedOutputs, name))
    return;
  outputNames.push_back(name.str());
  outputs.push_back(value);
}

void GraphMaker::setScope(StringRef name) {
  // The context belongs to the graph then.
  if (finished)
    return;
  scope = name.str();
  loc = scope.empty() ? Location(ops.getUnknownLoc())
                      : NameLoc::get(ops.getStringAttr(scope));
}

fusec_error *GraphMaker::describe(fusec_value value, fusec_tensor_info *info) {
  // The values belong to the graph then.
  if (finished)
    return makeError(FUSEC_INVALID_ARGUMENT, "the graph was finished before");
  if (value == FUSEC_NO_VALUE || value > values.size())
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "value " + llvm::Twine(value) +
                         " is no value of this builder");
  if (!values[value - 1])
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "value " + llvm::Twine(value) +
                         " is a value of a loop's body that has ended");
  Value known = values[value - 1];
  DimsRef shape = shapeOf(known);
  descriptions.emplace_back(runtime::TensorSpec{
      "", dtypeOf(known), std::vector<int64_t>(shape.begin(), shape.end())});
  return descriptions.back().write(info);
}

fusec_error *GraphMaker::finish(fusec_graph **result) {
  if (hasFailed)
    return makeError(FUSEC_INVALID_GRAPH, failure);
  if (finished)
    return makeError(FUSEC_INVALID_ARGUMENT, "the graph was finished before");
  if (bodyDepth)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "a graph cannot be finished in the body of a loop");
  if (outputs.empty())
    return makeError(FUSEC_INVALID_GRAPH, "the graph has no output");
  func::ReturnOp::create(ops, loc, outputs);
  function.setType(ops.getFunctionType(
      function.getBody().front().getArgumentTypes(), TypeRange(outputs)));
  for (auto [i, name] : llvm::enumerate(inputNames))
    function.setArgAttr(i, "graph.name", ops.getStringAttr(name));
  for (auto [i, name] : llvm::enumerate(outputNames))
    function.setResultAttr(i, "graph.name", ops.getStringAttr(name));
  finished = true;
  driver::DiagnosticCollector diagnostics(getContext());
  if (failed(verify(*model.module)))
    return toError(diagnostics.take("the graph is not valid"),
                   FUSEC_INVALID_GRAPH);
  if (llvm::Error error = session::describeFunction(model))
    return toError(std::move(error), FUSEC_INVALID_GRAPH);
  *result = makeGraph(settings, "graph", std::move(model));
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The API
//===----------------------------------------------------------------------===//

fusec_error *fusec_builder_create(fusec_context *context,
                                  fusec_builder **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(context, "context"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    *result = new fusec_builder{GraphMaker(context->settings)};
    return nullptr;
  });
}

void fusec_builder_free(fusec_builder *builder) { delete builder; }

fusec_error *fusec_builder_finish(fusec_builder *builder,
                                  fusec_graph **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(builder, "builder"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    return builder->builder.finish(result);
  });
}

fusec_error *fusec_builder_value(fusec_builder *builder, fusec_value value,
                                 fusec_tensor_info *info) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(builder, "builder"))
      return error;
    return builder->builder.describe(value, info);
  });
}

void fusec_builder_set_scope(fusec_builder *builder, const char *name) {
  guarded(builder, [&](GraphMaker &b) { b.setScope(name ? name : ""); });
}

fusec_value fusec_builder_input(fusec_builder *builder, const char *name,
                                fusec_dtype dtype, int32_t rank,
                                const int64_t *shape) {
  return buildStep(builder, "input", [&](GraphMaker &b) -> Value {
    Dims dims;
    if (!b.checkDType(dtype) || !b.readShape(rank, shape, dims))
      return {};
    return b.addInput(name ? name : "",
                      b.tensor(static_cast<DType>(dtype), dims));
  });
}

void fusec_builder_output(fusec_builder *builder, const char *name,
                          fusec_value value) {
  guarded(builder, [&](GraphMaker &b) {
    b.stepWithoutValue("output",
                       [&] { b.addOutput(name ? name : "", b.use(value)); });
  });
}
