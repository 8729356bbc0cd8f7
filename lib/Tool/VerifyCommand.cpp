//===- VerifyCommand.cpp - fusec verify -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs test folders in the layout of ONNX's backend tests:
//   CASE/model.onnx, CASE/test_data_set_<n>/{input,output}_<i>.{pb,npy}
// A folder without model.onnx stands for the cases in it.
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Compare.h"
#include "Inputs.h"
#include "Report.h"
#include "fusec/Support/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {
/// What verify was asked for.
struct Settings {
  Target target;
  driver::CompileOptions options;
  Tolerance tolerance;
  std::string out;
  bool json = false;
};

/// The outcome of one data set.
struct Outcome {
  ExitCode code = ExitCode::Ok;
  std::string message;
  double maxRelative = 0, maxAbsolute = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Folders directly in `folder` whose name starts with `prefix`, sorted.
static llvm::Expected<std::vector<std::string>> subfolders(StringRef folder,
                                                           StringRef prefix) {
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

static bool isCase(StringRef folder) {
  return fs::exists(folder + "/model.onnx");
}

static llvm::Expected<std::vector<std::string>>
findCases(llvm::ArrayRef<StringRef> folders) {
  std::vector<std::string> cases;
  for (StringRef folder : folders) {
    while (folder.size() > 1 && folder.ends_with("/"))
      folder = folder.drop_back();
    if (isCase(folder)) {
      cases.push_back(folder.str());
      continue;
    }
    auto inner = subfolders(folder, "");
    if (!inner)
      return inner.takeError();
    size_t before = cases.size();
    llvm::copy_if(*inner, std::back_inserter(cases), isCase);
    if (cases.size() == before)
      return toolError(ExitCode::Usage,
                       "no test case in " + quoted(folder) +
                           ": expected model.onnx in it or in folders in it");
  }
  return cases;
}

//===----------------------------------------------------------------------===//
// One data set
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

/// Loads the model for these inputs. Where a type depends on the value of an
/// integer input (a shape, axes, ...), such inputs are made constants.
static llvm::Expected<Model> loadFor(const ModelFile &file,
                                     llvm::ArrayRef<std::string> names,
                                     llvm::ArrayRef<HostTensor> inputs,
                                     Bindings &bindings) {
  for (auto [name, tensor] : llvm::zip(names, inputs))
    if (file.isDynamic(name))
      bindings.shapes[name] = tensor.shape;
  llvm::Expected<Model> model = file.load(bindings);
  if (model)
    return model;
  Bindings bound;
  for (auto [name, tensor] : llvm::zip(names, inputs)) {
    if (!isFloat(tensor.dtype) && tensor.elements() <= 64)
      bound.values[name] = tensor;
    else if (file.isDynamic(name))
      bound.shapes[name] = tensor.shape;
  }
  if (bound.values.empty())
    return model;
  llvm::Expected<Model> second = file.load(bound);
  if (!second) {
    llvm::consumeError(second.takeError());
    return model;
  }
  llvm::consumeError(model.takeError());
  bindings = std::move(bound);
  return second;
}

/// The outputs of one data set beside what they should be.
static llvm::Error runDataSet(const ModelFile &file, StringRef folder,
                              const Settings &settings, StringRef outFolder,
                              Outcome &outcome) {
  if (llvm::Error error = file.checkInputTypes())
    return error;
  std::vector<std::string> names = file.onnxInputs();
  auto inputs = readAll(numberedFiles(folder, "input_"));
  if (!inputs)
    return inputs.takeError();
  if (inputs->size() != names.size())
    return toolError(ExitCode::Usage, "expected " + llvm::Twine(names.size()) +
                                          " input files, found " +
                                          llvm::Twine(inputs->size()));
  Bindings bindings;
  llvm::Expected<Model> model = loadFor(file, names, *inputs, bindings);
  if (!model)
    return model.takeError();
  std::vector<HostTensor> arguments;
  for (auto [name, tensor] : llvm::zip(names, *inputs))
    if (!bindings.values.contains(name))
      arguments.push_back(std::move(tensor));
  if (arguments.size() != model->inputs.size())
    return toolError(ExitCode::Usage,
                     "expected " + llvm::Twine(model->inputs.size()) +
                         " inputs, found " + llvm::Twine(arguments.size()));
  for (auto [spec, tensor] : llvm::zip(model->inputs, arguments))
    if (llvm::Error error =
            checkTensor(spec, tensor, "input " + quoted(spec.name)))
      return error;
  auto expected = readAll(numberedFiles(folder, "output_"));
  if (!expected)
    return expected.takeError();
  std::vector<runtime::TensorSpec> specs = model->outputs;
  auto session =
      Session::create(std::move(*model), settings.target, settings.options);
  if (!session)
    return session.takeError();
  auto found = (*session)->run(arguments);
  if (!found)
    return found.takeError();
  if (!outFolder.empty()) {
    if (llvm::Error error = makeFolder(outFolder))
      return error;
    for (auto [i, tensor] : llvm::enumerate(*found))
      if (llvm::Error error = writeNpy(
              (outFolder + "/output_" + llvm::Twine(i) + ".npy").str(), tensor))
        return withCode(ExitCode::Usage, std::move(error));
  }
  if (expected->size() != found->size())
    return toolError(ExitCode::Usage, "expected " + llvm::Twine(found->size()) +
                                          " output files, found " +
                                          llvm::Twine(expected->size()));
  for (auto [spec, want, have] : llvm::zip(specs, *expected, *found)) {
    Difference difference = compare(want, have, settings.tolerance);
    outcome.maxRelative = std::max(outcome.maxRelative, difference.maxRelative);
    outcome.maxAbsolute = std::max(outcome.maxAbsolute, difference.maxAbsolute);
    if (!difference.ok() && outcome.message.empty()) {
      outcome.code = ExitCode::WrongResult;
      outcome.message = "output " + quoted(spec.name) + ", " + difference.first;
    }
  }
  return llvm::Error::success();
}

/// Splits a ToolError; others are failures.
static void note(llvm::Error error, Outcome &outcome) {
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
}

//===----------------------------------------------------------------------===//
// Cases and the summary
//===----------------------------------------------------------------------===//

static StringRef word(ExitCode code) {
  switch (code) {
  case ExitCode::Ok:
    return "PASS";
  case ExitCode::WrongResult:
    return "FAIL";
  case ExitCode::Unsupported:
    return "UNSUPPORTED";
  default:
    return "ERROR";
  }
}

namespace {
/// Counts and prints outcomes.
struct Tally {
  bool json;
  std::array<int64_t, 6> counts = {};
  Array rows = {};

  void add(StringRef name, const Outcome &outcome) {
    ++counts[static_cast<size_t>(outcome.code)];
    if (json) {
      rows.push_back(Object{{"name", jsonText(name)},
                            {"outcome", word(outcome.code)},
                            {"message", jsonText(outcome.message)},
                            {"max_relative", outcome.maxRelative},
                            {"max_absolute", outcome.maxAbsolute}});
      return;
    }
    llvm::outs() << word(outcome.code) << ' ' << name;
    if (outcome.code == ExitCode::Ok)
      llvm::outs() << llvm::format(" (largest error %.2g relative, %.2g "
                                   "absolute)",
                                   outcome.maxRelative, outcome.maxAbsolute);
    else
      llvm::outs() << ": " << outcome.message;
    llvm::outs() << '\n';
    // Whoever waits, or ends the run early, sees what is done.
    llvm::outs().flush();
  }

  int64_t count(ExitCode code) const {
    return counts[static_cast<size_t>(code)];
  }
  int64_t errors() const {
    return count(ExitCode::Usage) + count(ExitCode::NoDevice) +
           count(ExitCode::Failed);
  }
  /// The worst outcome: a wrong result before all else.
  ExitCode code() const {
    for (ExitCode code :
         {ExitCode::WrongResult, ExitCode::Failed, ExitCode::Usage,
          ExitCode::NoDevice, ExitCode::Unsupported})
      if (count(code))
        return code;
    return ExitCode::Ok;
  }
};
} // namespace

static void verifyCase(StringRef folder, const Settings &settings,
                       Tally &tally) {
  StringRef name = path::filename(folder);
  Outcome outcome;
  llvm::Expected<ModelFile> file =
      ModelFile::open((folder + "/model.onnx").str());
  if (!file) {
    note(file.takeError(), outcome);
    return tally.add(name, outcome);
  }
  auto sets = subfolders(folder, "test_data_set_");
  if (sets && sets->empty())
    sets =
        toolError(ExitCode::Usage, "no test_data_set_0 in " + quoted(folder));
  if (!sets) {
    note(sets.takeError(), outcome);
    return tally.add(name, outcome);
  }
  for (const std::string &set : *sets) {
    Outcome one;
    std::string out;
    if (!settings.out.empty())
      out = (settings.out + "/" + name + "/" + path::filename(set)).str();
    if (llvm::Error error = runDataSet(*file, set, settings, out, one))
      note(std::move(error), one);
    std::string label = name.str();
    if (sets->size() > 1)
      label += ("/" + path::filename(set)).str();
    tally.add(label, one);
  }
}

static llvm::Expected<Settings> parseSettings(const Arguments &arguments) {
  Settings settings;
  llvm::Expected<double> relative =
      arguments.number("rtol", settings.tolerance.relative);
  if (!relative)
    return relative.takeError();
  llvm::Expected<double> absolute =
      arguments.number("atol", settings.tolerance.absolute);
  if (!absolute)
    return absolute.takeError();
  settings.tolerance = {*relative, *absolute};
  llvm::Expected<Target> target =
      openTarget(arguments.value("target"), arguments.value("arch"));
  if (!target)
    return target.takeError();
  settings.target = std::move(*target);
  auto options = parseCompileOptions(arguments, settings.target.info);
  if (!options)
    return options.takeError();
  settings.options = *options;
  settings.out = arguments.value("out").str();
  settings.json = arguments.has("json");
  return settings;
}

static llvm::Expected<ExitCode> verify(const Arguments &arguments) {
  auto cases = findCases(arguments.positionals);
  if (!cases)
    return cases.takeError();
  llvm::Expected<Settings> settings = parseSettings(arguments);
  if (!settings)
    return settings.takeError();
  Tally tally{settings->json};
  for (const std::string &folder : *cases)
    verifyCase(folder, *settings, tally);
  if (settings->json) {
    printJson(Object{{"target", name(settings->target.kind)},
                     {"cases", std::move(tally.rows)},
                     {"passed", tally.count(ExitCode::Ok)},
                     {"failed", tally.count(ExitCode::WrongResult)},
                     {"unsupported", tally.count(ExitCode::Unsupported)},
                     {"errors", tally.errors()}});
    return tally.code();
  }
  llvm::outs() << "verify: " << tally.count(ExitCode::Ok) << " passed, "
               << tally.count(ExitCode::WrongResult) << " failed, "
               << tally.count(ExitCode::Unsupported) << " unsupported, "
               << tally.errors() << " errors\n";
  return tally.code();
}

CommandSpec fusec::tool::verifyCommand() {
  return {
      "verify",
      "DIR... [options]",
      "Runs test folders in the layout of ONNX's backend tests and compares "
      "with their\noutputs: DIR/model.onnx and DIR/test_data_set_0 with "
      "input_0.pb, output_0.pb, ...\nA DIR without model.onnx stands for the "
      "folders in it. Integers and NaN must be\nequal, floats within "
      "atol + rtol * |expected|.",
      concat({{targetOptionSpec()},
              {{"rtol", "X", "relative tolerance (default: 1e-3)"},
               {"atol", "X", "absolute tolerance (default: 1e-7)"},
               {"out", "DIR",
                "write outputs to DIR/CASE/test_data_set_0/output_0.npy, ..."}},
              compileOptionSpecs(),
              {{"json", "", "report as JSON"}},
              helpOptionSpecs()}),
      "  fusec verify test/models/mnist_cnn --target=reference\n"
      "      one network\n"
      "  fusec verify onnx/backend/test/data/node --target=emulator\n"
      "      all cases of a folder\n",
      size_t(1) << 20,
      verify};
}
