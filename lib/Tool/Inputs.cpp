//===- Inputs.cpp - tensors for a run -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Inputs.h"
#include "Random.h"
#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Frontend/Onnx/TensorData.h"
#include "fusec/Support/Npy.h"
#include "llvm/Support/FileSystem.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;

llvm::Expected<HostTensor> fusec::tool::readTensor(StringRef path,
                                                   std::optional<DType> as) {
  auto fail = [&](llvm::Error error) -> llvm::Error {
    std::string message = llvm::toString(std::move(error));
    if (!StringRef(message).contains(path))
      message = quoted(path) + ": " + message;
    return toolError(ExitCode::Usage, message);
  };
  if (path.ends_with(".npy")) {
    llvm::Expected<HostTensor> tensor = readNpy(path, as);
    if (!tensor)
      return fail(tensor.takeError());
    return tensor;
  }
  if (!path.ends_with(".pb"))
    return toolError(ExitCode::Usage, quoted(path) +
                                          ": expected a tensor file, .npy or "
                                          ".pb (ONNX TensorProto)");
  llvm::Expected<onnx::TensorFile> file = onnx::readTensorFile(path);
  if (!file)
    return fail(file.takeError());
  llvm::Expected<HostTensor> tensor = onnx::decodeTensor(file->tensor);
  if (!tensor)
    return fail(tensor.takeError());
  return tensor;
}

std::vector<OptionSpec> fusec::tool::inputOptionSpecs() {
  return {{"input", "[NAME=]FILE",
           "an input from a .npy or .pb file; without NAME= in the order "
           "of\nthe model's inputs. Inputs without a file are random",
           true},
          {"inputs", "DIR",
           "inputs from DIR/input_0.pb (or .npy), DIR/input_1.pb, ..."},
          {"seed", "N", "seed of the random inputs (default: 0)"}};
}

std::vector<std::string> fusec::tool::numberedFiles(StringRef folder,
                                                    StringRef prefix) {
  std::vector<std::string> files;
  for (unsigned i = 0;; ++i) {
    std::string stem = (folder + "/" + prefix + llvm::Twine(i)).str();
    if (llvm::sys::fs::exists(stem + ".pb"))
      files.push_back(stem + ".pb");
    else if (llvm::sys::fs::exists(stem + ".npy"))
      files.push_back(stem + ".npy");
    else
      return files;
  }
}

llvm::Expected<InputFiles>
fusec::tool::parseInputs(const Arguments &arguments) {
  InputFiles inputs;
  for (StringRef text : arguments.values("input")) {
    // A path may hold '=' too: it is one if it names a file.
    auto [name, path] = text.rsplit('=');
    if (name.size() == text.size() || llvm::sys::fs::exists(text))
      inputs.ordered.push_back(text.str());
    else
      inputs.named.emplace_back(name.str(), path.str());
  }
  if (arguments.has("inputs")) {
    StringRef folder = arguments.value("inputs");
    if (!inputs.ordered.empty())
      return toolError(ExitCode::Usage,
                       "--inputs and --input FILE exclude each other");
    inputs.ordered = numberedFiles(folder, "input_");
    if (inputs.ordered.empty())
      return toolError(ExitCode::Usage,
                       "no inputs in " + quoted(folder) +
                           ": expected input_0.pb or input_0.npy");
  }
  llvm::Expected<int64_t> seed =
      arguments.integer("seed", 0, 0, std::numeric_limits<int64_t>::max());
  if (!seed)
    return seed.takeError();
  inputs.seed = static_cast<uint64_t>(*seed);
  inputs.hasSeed = arguments.has("seed");
  return inputs;
}

/// The file of each input by position, given the inputs' names.
static llvm::Expected<std::vector<std::string>>
assignFiles(const InputFiles &files, llvm::ArrayRef<std::string> names) {
  if (files.ordered.size() > names.size())
    return toolError(ExitCode::Usage, "expected at most " +
                                          llvm::Twine(names.size()) +
                                          " input files, found " +
                                          llvm::Twine(files.ordered.size()));
  std::vector<std::string> result(files.ordered);
  result.resize(names.size());
  for (const auto &[name, path] : files.named) {
    auto it = llvm::find(names, name);
    if (it == names.end()) {
      std::string known;
      for (const std::string &n : names)
        known += (known.empty() ? "inputs: " : ", ") + quoted(n);
      return toolError(ExitCode::Usage,
                       "--input names " + quoted(name) +
                           ", which is not an input of the model",
                       known);
    }
    std::string &place = result[it - names.begin()];
    if (!place.empty())
      return toolError(ExitCode::Usage, "input " + quoted(name) +
                                            " has two files: " + quoted(place) +
                                            " and " + quoted(path));
    place = path;
  }
  return result;
}

llvm::Error fusec::tool::bindShapes(const ModelFile &file,
                                    const InputFiles &inputs,
                                    Bindings &bindings) {
  if (!file.isOnnx() || inputs.empty())
    return llvm::Error::success();
  std::vector<std::string> names = file.onnxInputs();
  llvm::Expected<std::vector<std::string>> paths = assignFiles(inputs, names);
  if (!paths)
    return paths.takeError();
  for (auto [name, path] : llvm::zip(names, *paths)) {
    if (path.empty() || bindings.shapes.contains(name) || !file.isDynamic(name))
      continue;
    llvm::Expected<HostTensor> tensor = readTensor(path);
    if (!tensor)
      return tensor.takeError();
    bindings.shapes[name] = tensor->shape;
  }
  return llvm::Error::success();
}

llvm::Error fusec::tool::checkTensor(const runtime::TensorSpec &spec,
                                     const HostTensor &tensor,
                                     const llvm::Twine &from) {
  if (tensor.dtype == spec.dtype && tensor.shape == spec.shape)
    return llvm::Error::success();
  return toolError(ExitCode::Usage,
                   from + ": expected " + describe(spec.dtype, spec.shape) +
                       ", found " + describe(tensor.dtype, tensor.shape));
}

llvm::Expected<std::vector<HostTensor>>
fusec::tool::makeInputs(const Model &model, const InputFiles &inputs) {
  std::vector<std::string> names;
  for (const runtime::TensorSpec &spec : model.inputs)
    names.push_back(spec.name);
  llvm::Expected<std::vector<std::string>> paths = assignFiles(inputs, names);
  if (!paths)
    return paths.takeError();
  if (inputs.hasSeed && !inputs.empty() && !llvm::is_contained(*paths, ""))
    return toolError(ExitCode::Usage,
                     "--seed does not act: no input is random, each has a file",
                     "leave it out, or some of the files");
  std::vector<HostTensor> result;
  for (auto [i, spec, path] : llvm::enumerate(model.inputs, *paths)) {
    llvm::Expected<HostTensor> tensor = path.empty()
                                            ? randomTensor(spec, inputs.seed, i)
                                            : readTensor(path, spec.dtype);
    if (!tensor)
      return withCode(ExitCode::Usage, tensor.takeError());
    if (llvm::Error error =
            checkTensor(spec, *tensor,
                        "input " + quoted(spec.name) + " from " + quoted(path)))
      return error;
    result.push_back(std::move(*tensor));
  }
  return result;
}
