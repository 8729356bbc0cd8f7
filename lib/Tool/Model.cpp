//===- Model.cpp - graph files --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Model.h"
#include "Arguments.h"
#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Support/File.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tool;

/// MLIR text is parsed by a recursive parser made for trusted input; graphs
/// larger than this come as ONNX.
static constexpr uint64_t kMaxTextBytes = uint64_t(1) << 30;

std::string fusec::tool::describeShape(llvm::ArrayRef<int64_t> shape) {
  return shape.empty() ? "scalar"
                       : llvm::join(llvm::map_range(shape,
                                                    [](int64_t d) {
                                                      return std::to_string(d);
                                                    }),
                                    "x");
}

std::string fusec::tool::describe(DType dtype, llvm::ArrayRef<int64_t> shape) {
  return (fusec::name(dtype) + " " + describeShape(shape)).str();
}

ModelFile::ModelFile() = default;
ModelFile::ModelFile(ModelFile &&) = default;
ModelFile::~ModelFile() = default;

llvm::Expected<ModelFile> ModelFile::open(llvm::StringRef path) {
  ModelFile file;
  file.path = path.str();
  if (path.ends_with(".onnx")) {
    llvm::Expected<onnx::Model> model = onnx::readModel(path);
    if (!model)
      return withCode(ExitCode::Usage, model.takeError());
    file.onnx = std::make_unique<onnx::Model>(std::move(*model));
    return file;
  }
  if (path == "-") {
    auto buffer = llvm::MemoryBuffer::getSTDIN();
    if (!buffer)
      return toolError(ExitCode::Usage,
                       "cannot read stdin: " + buffer.getError().message());
    file.text = (*buffer)->getBuffer().str();
    return file;
  }
  if (!path.ends_with(".mlir"))
    return toolError(ExitCode::Usage,
                     quoted(path) + ": expected a graph file, .onnx or .mlir",
                     "MLIR text can also come from stdin: give - as the file");
  auto buffer = readRegularFile(path, kMaxTextBytes);
  if (!buffer)
    return withCode(ExitCode::Usage, buffer.takeError());
  file.text = (*buffer)->getBuffer().str();
  return file;
}

//===----------------------------------------------------------------------===//
// ONNX inputs
//===----------------------------------------------------------------------===//

using session::openInputs;

std::vector<std::string> ModelFile::onnxInputs() const {
  std::vector<std::string> names;
  if (onnx)
    for (const onnx::ValueInfo *input : openInputs(*onnx))
      names.push_back(input->name.str());
  return names;
}

bool ModelFile::isDynamic(llvm::StringRef name) const {
  for (const onnx::ValueInfo *input : openInputs(*onnx))
    if (input->name == name)
      return !input->type.shape ||
             llvm::any_of(*input->type.shape,
                          [](const onnx::Dimension &d) { return !d.value; });
  return false;
}

llvm::Error ModelFile::checkInputTypes() const {
  if (!onnx)
    return llvm::Error::success();
  return withCode(ExitCode::Unsupported, session::checkInputTypes(*onnx));
}

/// The first dimension of `input` that `bindings` leave open, as an error.
static llvm::Error checkSizes(const onnx::ValueInfo &input,
                              const Bindings &bindings) {
  if (bindings.shapes.contains(input.name) ||
      bindings.values.contains(input.name) ||
      input.type.kind != onnx::Type::Kind::Tensor)
    return llvm::Error::success();
  std::string name = quoted(input.name);
  if (!input.type.shape)
    return toolError(ExitCode::Usage, "input " + name + " has no shape",
                     "give it one, for example --shape " + input.name +
                         "=1x3x224x224");
  std::string example;
  llvm::StringRef symbol;
  std::optional<size_t> open;
  for (auto [i, dim] : llvm::enumerate(*input.type.shape)) {
    if (i)
      example += "x";
    std::optional<int64_t> size = dim.value;
    if (auto it = bindings.dims.find(dim.symbol);
        !size && !dim.symbol.empty() && it != bindings.dims.end())
      size = it->second;
    example += std::to_string(size.value_or(1));
    if (!size && !open) {
      open = i;
      symbol = dim.symbol;
    }
  }
  if (!open)
    return llvm::Error::success();
  std::string remedy =
      "give it one, for example --shape " + quoted(input.name + "=" + example);
  std::string which = std::to_string(*open);
  if (!symbol.empty()) {
    remedy += " or --dim " + quoted(symbol + "=1");
    which += " (" + quoted(symbol) + ")";
  }
  return toolError(ExitCode::Usage,
                   "input " + name + " has no size for dimension " + which,
                   remedy);
}

llvm::Error ModelFile::checkBindings(const Bindings &bindings) const {
  std::vector<std::string> names = onnxInputs();
  for (const auto &shape : bindings.shapes)
    if (!llvm::is_contained(names, shape.getKey()))
      return toolError(
          ExitCode::Usage,
          "--shape names " + quoted(shape.getKey()) +
              ", which is not an input of the model",
          "inputs: " + llvm::join(llvm::map_range(names,
                                                  [](const std::string &name) {
                                                    return quoted(name);
                                                  }),
                                  ", "));
  for (const auto &dim : bindings.dims) {
    bool found = false;
    for (const onnx::ValueInfo *input : openInputs(*onnx))
      if (input->type.shape)
        for (const onnx::Dimension &d : *input->type.shape)
          found |= !d.value && d.symbol == dim.getKey();
    if (!found)
      return toolError(ExitCode::Usage,
                       "--dim names " + quoted(dim.getKey()) +
                           ", which no input of the model has as a dimension");
  }
  for (const onnx::ValueInfo *input : openInputs(*onnx))
    if (llvm::Error error = checkSizes(*input, bindings))
      return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Making models
//===----------------------------------------------------------------------===//

llvm::Expected<Model> ModelFile::load(const Bindings &bindings) const {
  if (!isOnnx()) {
    if (!bindings.shapes.empty() || !bindings.dims.empty())
      return toolError(ExitCode::Usage,
                       "--shape and --dim are for ONNX files; the types in "
                       "MLIR text say all shapes");
    llvm::Expected<Model> model = session::parseModel(text, path);
    if (!model)
      return withCode(ExitCode::Usage, model.takeError());
    return model;
  }
  if (llvm::Error error = checkInputTypes())
    return error;
  if (llvm::Error error = checkBindings(bindings))
    return error;
  onnx::ImportOptions options;
  options.inputShapes = bindings.shapes;
  options.symbols = bindings.dims;
  options.boundInputs = bindings.values;
  llvm::Expected<Model> model = session::importModel(*onnx, options, path);
  if (!model)
    return withCode(ExitCode::Unsupported, model.takeError());
  return model;
}
