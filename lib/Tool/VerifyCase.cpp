//===- VerifyCase.cpp - one data set of an ONNX test case -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "VerifyCase.h"
#include "Inputs.h"
#include "Report.h"
#include "fusec/Support/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using llvm::json::Object;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

//===----------------------------------------------------------------------===//
// Outcomes
//===----------------------------------------------------------------------===//

static constexpr StringRef kWords[] = {"PASS",  "FAIL",  "UNSUPPORTED",
                                       "ERROR", "CRASH", "TIMEOUT"};

StringRef fusec::tool::word(Verdict verdict) {
  return kWords[static_cast<size_t>(verdict)];
}

static Verdict verdictOf(ExitCode code) {
  switch (code) {
  case ExitCode::Ok:
    return Verdict::Pass;
  case ExitCode::WrongResult:
    return Verdict::Fail;
  case ExitCode::Unsupported:
    return Verdict::Unsupported;
  case ExitCode::Usage:
  case ExitCode::NoDevice:
  case ExitCode::Failed:
    break;
  }
  return Verdict::Error;
}

Outcome fusec::tool::outcomeOf(llvm::Error error) {
  Outcome outcome;
  llvm::handleAllErrors(
      std::move(error),
      [&](const ToolError &info) {
        outcome.code = info.code;
        outcome.message = info.message;
      },
      [&](const llvm::ErrorInfoBase &info) {
        outcome.code = ExitCode::Failed;
        outcome.message = info.message();
      });
  outcome.verdict = verdictOf(outcome.code);
  return outcome;
}

std::string fusec::tool::toLine(const Outcome &outcome) {
  std::string line;
  llvm::raw_string_ostream os(line);
  os << llvm::json::Value(Object{{"code", static_cast<int>(outcome.code)},
                                 {"message", jsonText(outcome.message)},
                                 {"relative", outcome.maxRelative},
                                 {"absolute", outcome.maxAbsolute},
                                 {"scaled", outcome.maxScaled},
                                 {"seconds", outcome.seconds}});
  return line;
}

std::optional<Outcome> fusec::tool::fromLine(StringRef line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const Object *object = value->getAsObject();
  std::optional<int64_t> code;
  if (object)
    code = object->getInteger("code");
  if (!code || *code < 0 || *code > static_cast<int>(ExitCode::Failed))
    return std::nullopt;
  Outcome outcome;
  outcome.code = static_cast<ExitCode>(*code);
  outcome.verdict = verdictOf(outcome.code);
  outcome.message = object->getString("message").value_or("").str();
  outcome.maxRelative = object->getNumber("relative").value_or(0);
  outcome.maxAbsolute = object->getNumber("absolute").value_or(0);
  outcome.maxScaled = object->getNumber("scaled").value_or(0);
  outcome.seconds = object->getNumber("seconds").value_or(0);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<std::string>>
fusec::tool::subfolders(StringRef folder, StringRef prefix) {
  std::vector<std::string> result;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (path::filename(it->path()).starts_with(prefix) &&
        fs::is_directory(it->path()))
      result.push_back(it->path());
  if (error)
    return toolError(ExitCode::Usage,
                     "cannot list " + quoted(folder) + ": " + error.message());
  llvm::sort(result);
  return result;
}

std::vector<DataSet> fusec::tool::dataSets(StringRef folder) {
  std::string name = path::filename(folder).str();
  std::vector<std::string> sets;
  if (auto found = subfolders(folder, "test_data_set_"))
    sets = std::move(*found);
  else
    llvm::consumeError(found.takeError()); // said when the case runs
  if (sets.empty())
    return {{folder.str(), "", name}};
  std::vector<DataSet> result;
  for (const std::string &set : sets)
    result.push_back(
        {folder.str(), set,
         sets.size() == 1 ? name : name + "/" + path::filename(set).str()});
  return result;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static llvm::Expected<std::vector<HostTensor>>
readAll(llvm::ArrayRef<std::string> files) {
  std::vector<HostTensor> tensors;
  for (const std::string &file : files) {
    llvm::Expected<HostTensor> tensor = readTensor(file);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

/// What of the inputs becomes a constant of the model.
enum class Bound { Nothing, Integers, Vectors };

static Bindings bindingsFor(const ModelFile &file,
                            llvm::ArrayRef<std::string> names,
                            llvm::ArrayRef<HostTensor> inputs, Bound bound) {
  Bindings bindings;
  for (auto [name, tensor] : llvm::zip(names, inputs)) {
    bool isSmall = tensor.elements() <= 64;
    if (isSmall && ((bound != Bound::Nothing && !isFloat(tensor.dtype)) ||
                    (bound == Bound::Vectors && tensor.shape.size() <= 1)))
      bindings.values[name] = tensor;
    else if (file.isDynamic(name))
      bindings.shapes[name] = tensor.shape;
  }
  return bindings;
}

/// Loads the model for these inputs. Where a type depends on the value of an
/// integer input (a shape, axes, ...) or of a small vector (scales), such
/// inputs are made constants. The error is that of the model without any.
static llvm::Expected<Model> loadFor(const ModelFile &file,
                                     llvm::ArrayRef<std::string> names,
                                     llvm::ArrayRef<HostTensor> inputs,
                                     Bindings &bindings) {
  bindings = bindingsFor(file, names, inputs, Bound::Nothing);
  llvm::Expected<Model> model = file.load(bindings);
  for (Bound bound : {Bound::Integers, Bound::Vectors}) {
    if (model)
      return model;
    Bindings more = bindingsFor(file, names, inputs, bound);
    if (more.values.empty())
      continue;
    llvm::Expected<Model> second = file.load(more);
    if (!second) {
      llvm::consumeError(second.takeError());
      continue;
    }
    llvm::consumeError(model.takeError());
    bindings = std::move(more);
    return second;
  }
  return model;
}

/// The inputs that are left for a run of `model`, checked.
static llvm::Expected<std::vector<HostTensor>>
argumentsOf(const Model &model, llvm::ArrayRef<std::string> names,
            llvm::ArrayRef<HostTensor> inputs, const Bindings &bindings) {
  std::vector<HostTensor> arguments;
  for (auto [name, tensor] : llvm::zip(names, inputs))
    if (!bindings.values.contains(name))
      arguments.push_back(tensor);
  if (arguments.size() != model.inputs.size())
    return toolError(ExitCode::Usage,
                     "expected " + llvm::Twine(model.inputs.size()) +
                         " inputs, found " + llvm::Twine(arguments.size()));
  for (auto [spec, tensor] : llvm::zip(model.inputs, arguments))
    if (llvm::Error error =
            checkTensor(spec, tensor, "input " + quoted(spec.name)))
      return error;
  return arguments;
}

static llvm::Error writeOutputs(const DataSet &set, StringRef out,
                                llvm::ArrayRef<HostTensor> outputs) {
  std::string folder = (out + "/" + path::filename(set.caseFolder) + "/" +
                        path::filename(set.folder))
                           .str();
  if (llvm::Error error = makeFolder(folder))
    return error;
  for (auto [i, tensor] : llvm::enumerate(outputs))
    if (llvm::Error error =
            writeNpy(folder + "/output_" + std::to_string(i) + ".npy", tensor))
      return withCode(ExitCode::Usage, std::move(error));
  return llvm::Error::success();
}

/// Compares all outputs; the first difference is the message.
static llvm::Expected<Outcome> compareAll(
    llvm::ArrayRef<runtime::TensorSpec> specs,
    llvm::ArrayRef<OutputFacts> facts, llvm::ArrayRef<HostTensor> expected,
    llvm::ArrayRef<HostTensor> found, const ToleranceOptions &tolerance) {
  if (expected.size() != found.size())
    return toolError(ExitCode::Usage, "expected " + llvm::Twine(found.size()) +
                                          " output files, found " +
                                          llvm::Twine(expected.size()));
  Outcome outcome;
  for (size_t i = 0; i < found.size(); ++i) {
    Difference difference =
        compare(expected[i], found[i], tolerance.of(specs[i].dtype, facts[i]));
    outcome.maxRelative = std::max(outcome.maxRelative, difference.maxRelative);
    outcome.maxAbsolute = std::max(outcome.maxAbsolute, difference.maxAbsolute);
    outcome.maxScaled = std::max(outcome.maxScaled, difference.maxScaled);
    if (difference.ok() || !outcome.message.empty())
      continue;
    outcome.code = ExitCode::WrongResult;
    outcome.message =
        "output " + quoted(specs[i].name) + ", " + difference.first;
  }
  outcome.verdict = verdictOf(outcome.code);
  return outcome;
}

static llvm::Expected<Outcome> tryDataSet(const DataSet &set,
                                          const CaseSettings &settings) {
  llvm::Expected<ModelFile> file =
      ModelFile::open(set.caseFolder + "/model.onnx");
  if (!file)
    return file.takeError();
  if (set.folder.empty())
    return toolError(ExitCode::Usage,
                     "no test_data_set_0 in " + quoted(set.caseFolder));
  if (llvm::Error error = file->checkInputTypes())
    return error;
  std::vector<std::string> names = file->onnxInputs();
  auto inputs = readAll(numberedFiles(set.folder, "input_"));
  if (!inputs)
    return inputs.takeError();
  if (inputs->size() != names.size())
    return toolError(ExitCode::Usage, "expected " + llvm::Twine(names.size()) +
                                          " input files, found " +
                                          llvm::Twine(inputs->size()));
  Bindings bindings;
  llvm::Expected<Model> model = loadFor(*file, names, *inputs, bindings);
  if (!model)
    return model.takeError();
  auto arguments = argumentsOf(*model, names, *inputs, bindings);
  if (!arguments)
    return arguments.takeError();
  auto expected = readAll(numberedFiles(set.folder, "output_"));
  if (!expected)
    return expected.takeError();
  std::vector<runtime::TensorSpec> specs = model->outputs;
  std::vector<OutputFacts> facts = outputFacts(*model);
  auto session =
      Session::create(std::move(*model), settings.target, settings.options);
  if (!session)
    return session.takeError();
  auto found = (*session)->run(*arguments);
  if (!found)
    return found.takeError();
  if (!settings.out.empty())
    if (llvm::Error error = writeOutputs(set, settings.out, *found))
      return error;
  return compareAll(specs, facts, *expected, *found, settings.tolerance);
}

Outcome fusec::tool::runDataSet(const DataSet &set,
                                const CaseSettings &settings) {
  auto begin = std::chrono::steady_clock::now();
  llvm::Expected<Outcome> result = tryDataSet(set, settings);
  Outcome outcome = result ? *result : outcomeOf(result.takeError());
  std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  outcome.seconds = used.count();
  return outcome;
}
