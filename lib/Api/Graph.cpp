//===- Graph.cpp - graphs from files and text -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Objects.h"
#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Frontend/Onnx/TensorData.h"
#include "fusec/Support/File.h"
#include "llvm/ADT/StringSet.h"

using namespace fusec;
using namespace fusec::api;
using session::quoted;

/// Parsed text is several times as large; graphs beyond this come as ONNX.
static constexpr uint64_t kMaxTextBytes = uint64_t(1) << 30;

//===----------------------------------------------------------------------===//
// Making graphs
//===----------------------------------------------------------------------===//

/// A bound graph of `model`.
static std::shared_ptr<GraphData>
makeBound(std::shared_ptr<const Settings> settings, std::string name,
          session::Model model) {
  auto graph = std::make_shared<GraphData>();
  graph->settings = std::move(settings);
  graph->name = std::move(name);
  graph->inputs = describe(model.inputs);
  graph->outputs = describe(model.outputs);
  graph->model = std::move(model);
  return graph;
}

fusec_graph *api::makeGraph(std::shared_ptr<const Settings> settings,
                            std::string name, session::Model model) {
  return new fusec_graph{
      makeBound(std::move(settings), std::move(name), std::move(model))};
}

/// An ONNX value as far as the file declares it. Its type was checked for
/// inputs; an output of another kind is described as f32 of unknown rank.
static TensorDescription describeOnnx(const onnx::ValueInfo &value) {
  DType dtype = DType::F32;
  if (auto known = onnx::toDType(value.type.elementType))
    dtype = *known;
  else
    llvm::consumeError(known.takeError());
  if (!value.type.shape)
    return TensorDescription(value.name.str(), dtype, std::nullopt, {});
  std::vector<int64_t> shape;
  std::vector<std::string> symbols;
  for (const onnx::Dimension &dim : *value.type.shape) {
    shape.push_back(dim.value.value_or(-1));
    symbols.push_back(dim.value ? "" : dim.symbol.str());
  }
  return TensorDescription(value.name.str(), dtype, std::move(shape),
                           std::move(symbols));
}

static bool isOpen(const onnx::ValueInfo &value) {
  return !value.type.shape ||
         llvm::any_of(*value.type.shape,
                      [](const onnx::Dimension &dim) { return !dim.value; });
}

/// A graph of an ONNX file, bound if no input is open.
static fusec_error *makeOnnx(const fusec_context *context, std::string name,
                             llvm::Expected<onnx::Model> file,
                             fusec_graph **result) {
  if (!file)
    return toError(file.takeError(), FUSEC_INVALID_GRAPH);
  if (llvm::Error error = session::checkInputTypes(*file))
    return toError(std::move(error), FUSEC_UNSUPPORTED);
  auto shared = std::make_shared<const onnx::Model>(std::move(*file));
  std::vector<const onnx::ValueInfo *> inputs = session::openInputs(*shared);
  auto graph = std::make_shared<GraphData>();
  if (llvm::any_of(inputs, [](auto *input) { return isOpen(*input); })) {
    graph->settings = context->settings;
    graph->name = std::move(name);
    for (const onnx::ValueInfo *input : inputs)
      graph->inputs.push_back(describeOnnx(*input));
    for (const onnx::ValueInfo &output : shared->graph.outputs)
      graph->outputs.push_back(describeOnnx(output));
  } else {
    auto model = session::importModel(*shared, {}, name);
    if (!model)
      return toError(model.takeError(), FUSEC_UNSUPPORTED, FUSEC_INVALID_GRAPH);
    graph = makeBound(context->settings, std::move(name), std::move(*model));
  }
  graph->file = std::move(shared);
  *result = new fusec_graph{std::move(graph)};
  return nullptr;
}

static fusec_error *makeText(const fusec_context *context, std::string name,
                             llvm::StringRef text, fusec_graph **result) {
  if (text.size() > kMaxTextBytes)
    return makeError(FUSEC_INVALID_GRAPH, quoted(name) + ": expected at most " +
                                              llvm::Twine(kMaxTextBytes) +
                                              " bytes of text, found " +
                                              llvm::Twine(text.size()));
  auto model = session::parseModel(text, name);
  if (!model)
    return toError(model.takeError(), FUSEC_INVALID_GRAPH, FUSEC_INVALID_GRAPH);
  *result = makeGraph(context->settings, std::move(name), std::move(*model));
  return nullptr;
}

static fusec_error *checkNotNull(const void *context, const void *data,
                                 const void *result) {
  if (fusec_error *error = requireNotNull(context, "context"))
    return error;
  if (fusec_error *error = requireNotNull(data, "data"))
    return error;
  return requireNotNull(result, "result");
}

fusec_error *fusec_graph_from_file(fusec_context *context, const char *path,
                                   fusec_graph **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = checkNotNull(context, path, result))
      return error;
    llvm::StringRef name = path;
    if (name.ends_with(".onnx"))
      return makeOnnx(context, name.str(), onnx::readModel(name), result);
    if (!name.ends_with(".mlir"))
      return makeError(FUSEC_INVALID_ARGUMENT,
                       quoted(name) +
                           ": expected a graph file, .onnx or .mlir");
    auto buffer = readRegularFile(name, kMaxTextBytes);
    if (!buffer)
      return toError(buffer.takeError(), FUSEC_INVALID_ARGUMENT);
    return makeText(context, name.str(), (*buffer)->getBuffer(), result);
  });
}

fusec_error *fusec_graph_from_onnx(fusec_context *context, const void *data,
                                   size_t bytes, fusec_graph **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = checkNotNull(context, data, result))
      return error;
    llvm::StringRef view(static_cast<const char *>(data), bytes);
    if (bytes > onnx::ReadLimits().maxFileBytes)
      return makeError(FUSEC_INVALID_GRAPH,
                       "the model has " + llvm::Twine(bytes) +
                           " bytes, which is more than a file may have");
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(view, "model");
    if (!buffer)
      return makeError(FUSEC_OUT_OF_MEMORY, "memory was refused");
    return makeOnnx(context, "model", onnx::parseModel(std::move(buffer)),
                    result);
  });
}

fusec_error *fusec_graph_from_mlir(fusec_context *context, const char *text,
                                   size_t bytes, fusec_graph **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = checkNotNull(context, text, result))
      return error;
    return makeText(context, "text", llvm::StringRef(text, bytes), result);
  });
}

void fusec_graph_free(fusec_graph *graph) { delete graph; }

//===----------------------------------------------------------------------===//
// Looking at graphs
//===----------------------------------------------------------------------===//

size_t fusec_graph_num_inputs(const fusec_graph *graph) {
  return graph ? graph->data->inputs.size() : 0;
}
size_t fusec_graph_num_outputs(const fusec_graph *graph) {
  return graph ? graph->data->outputs.size() : 0;
}
int fusec_graph_is_bound(const fusec_graph *graph) {
  return graph && graph->data->model.has_value();
}

fusec_error *fusec_graph_input(const fusec_graph *graph, size_t index,
                               fusec_tensor_info *info) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(graph, "graph"))
      return error;
    return writeTensor(graph->data->inputs, index, "input", info);
  });
}
fusec_error *fusec_graph_output(const fusec_graph *graph, size_t index,
                                fusec_tensor_info *info) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(graph, "graph"))
      return error;
    return writeTensor(graph->data->outputs, index, "output", info);
  });
}

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

/// No function locks more graphs.
static thread_local const GraphData *lockedGraphs[2] = {};

GraphLock::GraphLock(const GraphData &graph) : graph(graph) {
  graph.mutex.lock();
  (lockedGraphs[0] ? lockedGraphs[1] : lockedGraphs[0]) = &graph;
}

GraphLock::~GraphLock() {
  (lockedGraphs[1] ? lockedGraphs[1] : lockedGraphs[0]) = nullptr;
  graph.mutex.unlock();
}

fusec_error *GraphLock::check() const {
  if (!graph.isAbandoned)
    return nullptr;
  return makeError(FUSEC_FAILED,
                   quoted(graph.name) +
                       ": memory was refused while it was compiled; make the "
                       "graph anew");
}

GraphPairLock::GraphPairLock(const GraphData &a, const GraphData &b)
    : first(std::less<const GraphData *>()(&b, &a) ? b : a) {
  if (&a != &b)
    second.emplace(std::less<const GraphData *>()(&b, &a) ? a : b);
}

fusec_error *GraphPairLock::check() const {
  if (fusec_error *error = first.check())
    return error;
  return second ? second->check() : nullptr;
}

void api::abandonLockedGraph() {
  for (const GraphData *&graph : lockedGraphs) {
    if (!graph)
      continue;
    graph->isAbandoned = true;
    graph->mutex.unlock();
    graph = nullptr;
  }
}

fusec_error *fusec_graph_to_mlir(const fusec_graph *graph, char **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(graph, "graph"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    if (!graph->data->model)
      return makeError(FUSEC_INVALID_ARGUMENT,
                       quoted(graph->data->name) +
                           " has open dimensions: bind it first");
    std::string text;
    llvm::raw_string_ostream os(text);
    {
      GraphLock lock(*graph->data);
      if (fusec_error *error = lock.check())
        return error;
      mlir::ModuleOp module = *graph->data->model->module;
      module.print(os);
    }
    char *copy = copyString(text);
    if (!copy)
      return makeError(FUSEC_OUT_OF_MEMORY, "memory was refused");
    *result = copy;
    return nullptr;
  });
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

static fusec_error *invalid(const llvm::Twine &message) {
  return makeError(FUSEC_INVALID_ARGUMENT, message);
}

/// Reads the caller's bindings. Every one must name something.
static fusec_error *readBindings(const GraphData &graph,
                                 llvm::ArrayRef<fusec_dim_binding> dims,
                                 llvm::ArrayRef<fusec_shape_binding> shapes,
                                 onnx::ImportOptions &options) {
  llvm::StringSet<> symbols, inputs;
  for (const onnx::ValueInfo *input : session::openInputs(*graph.file)) {
    inputs.insert(input->name);
    if (input->type.shape)
      for (const onnx::Dimension &dim : *input->type.shape)
        if (!dim.value && !dim.symbol.empty())
          symbols.insert(dim.symbol);
  }
  for (const fusec_dim_binding &dim : dims) {
    if (!dim.name || dim.size < 0)
      return invalid("a dimension binding needs a name and a size of at least "
                     "0");
    if (!symbols.contains(dim.name))
      return invalid("no input has a dimension named " + quoted(dim.name));
    if (!options.symbols.try_emplace(dim.name, dim.size).second)
      return invalid("dimension " + quoted(dim.name) + " is bound twice");
  }
  for (const fusec_shape_binding &shape : shapes) {
    if (!shape.input || shape.rank < 0 || (shape.rank && !shape.shape))
      return invalid("a shape binding needs an input, a rank of at least 0 and "
                     "its sizes");
    if (!inputs.contains(shape.input))
      return invalid("no input is named " + quoted(shape.input));
    std::vector<int64_t> sizes(shape.shape, shape.shape + shape.rank);
    if (auto count = elementCount(sizes); !count)
      return invalid("input " + quoted(shape.input) + ": " +
                     llvm::toString(count.takeError()));
    if (!options.inputShapes.try_emplace(shape.input, std::move(sizes)).second)
      return invalid("input " + quoted(shape.input) + " is bound twice");
  }
  return nullptr;
}

/// The first dimension that the bindings leave open.
static fusec_error *checkAllBound(const GraphData &graph,
                                  const onnx::ImportOptions &options) {
  for (const onnx::ValueInfo *input : session::openInputs(*graph.file)) {
    if (options.inputShapes.contains(input->name))
      continue;
    if (!input->type.shape)
      return invalid("input " + quoted(input->name) +
                     " has no shape: bind one");
    for (auto [i, dim] : llvm::enumerate(*input->type.shape)) {
      if (dim.value || options.symbols.contains(dim.symbol))
        continue;
      std::string which = llvm::utostr(i);
      if (!dim.symbol.empty())
        which += " (" + quoted(dim.symbol) + ")";
      return invalid("input " + quoted(input->name) +
                     " has no size for dimension " + which + ": bind it");
    }
  }
  return nullptr;
}

fusec_error *fusec_graph_bind(const fusec_graph *graph,
                              const fusec_dim_binding *dims, size_t num_dims,
                              const fusec_shape_binding *shapes,
                              size_t num_shapes, fusec_graph **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(graph, "graph"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    if ((num_dims && !dims) || (num_shapes && !shapes))
      return invalid("bindings: expected a pointer, found null");
    const GraphData &data = *graph->data;
    if (!data.file)
      return makeError(FUSEC_UNSUPPORTED,
                       quoted(data.name) +
                           ": only ONNX graphs have dimensions to bind");
    onnx::ImportOptions options;
    if (fusec_error *error =
            readBindings(data, {dims, num_dims}, {shapes, num_shapes}, options))
      return error;
    if (fusec_error *error = checkAllBound(data, options))
      return error;
    auto model = session::importModel(*data.file, options, data.name);
    if (!model)
      return toError(model.takeError(), FUSEC_UNSUPPORTED, FUSEC_INVALID_GRAPH);
    auto bound = makeBound(data.settings, data.name, std::move(*model));
    bound->file = data.file;
    *result = new fusec_graph{std::move(bound)};
    return nullptr;
  });
}
