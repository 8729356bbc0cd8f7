//===- RunCommand.cpp - fusec run -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Compare.h"
#include "Inputs.h"
#include "Like.h"
#include "Prepare.h"
#include "Progress.h"
#include "Tuning.h"
#include "fusec/Support/Npy.h"
#include "fusec/Verify/NetBounds.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::json::Array;
using llvm::json::Object;

/// DIR/output_0.npy, ...: names in files are not to be trusted with paths.
static llvm::Error writeOutputs(llvm::StringRef folder,
                                llvm::ArrayRef<HostTensor> outputs) {
  for (auto [i, output] : llvm::enumerate(outputs))
    if (llvm::Error error = writeNpy(
            (folder + "/output_" + llvm::Twine(i) + ".npy").str(), output))
      return withCode(ExitCode::Usage, std::move(error));
  return llvm::Error::success();
}

namespace {
/// How an output of the first or second target leaves the bounds of the graph,
/// empty if it does not; how many of its elements may be anything.
struct Verdict {
  std::string wrong;
  int64_t unknown = 0;
};
} // namespace

/// Nothing if there are no bounds: --rtol, --atol or --steps are given, or they
/// would take too long.
static std::optional<std::vector<Verdict>> judgeByBounds(
    const Arguments &arguments, Model &model, llvm::ArrayRef<HostTensor> inputs,
    llvm::ArrayRef<HostTensor> first, llvm::ArrayRef<HostTensor> second) {
  if (arguments.has("rtol") || arguments.has("atol") || arguments.has("steps"))
    return std::nullopt;
  auto bounds = verify::boundsOfNet(model, inputs);
  if (!bounds) {
    llvm::consumeError(bounds.takeError());
    return std::nullopt;
  }
  std::vector<Verdict> verdicts;
  for (auto [bound, a, b] : llvm::zip(*bounds, first, second)) {
    reference::Deviation deviation = deviationOf(bound, a);
    Verdict verdict{deviation.first, deviation.unknown};
    if (verdict.wrong.empty())
      if (verdict.wrong = deviationOf(bound, b).first; !verdict.wrong.empty())
        verdict.wrong = arguments.value("against").str() + ": " + verdict.wrong;
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

/// Runs the model on a second target too, prints its outputs and compares.
static llvm::Expected<bool> runAgainst(const Arguments &arguments,
                                       const Prepared &prepared,
                                       llvm::ArrayRef<HostTensor> outputs,
                                       Object &object) {
  llvm::Expected<ToleranceOptions> tolerance = parseTolerance(arguments);
  if (!tolerance)
    return tolerance.takeError();
  llvm::StringRef name = arguments.value("against");
  llvm::Expected<Target> target =
      openTarget(name, arguments.value("arch"), kernelCache(arguments),
                 arguments.has("quiet"));
  if (!target)
    return target.takeError();
  auto options = parseCompileOptions(arguments, target->info);
  if (!options)
    return options.takeError();
  llvm::Expected<Model> model = prepared.file->load(prepared.bindings);
  if (!model)
    return model.takeError();
  std::vector<OutputFacts> facts = outputFacts(*model);
  auto session = Session::create(std::move(*model), *target, *options);
  if (!session)
    return session.takeError();
  auto expected = (*session)->run(prepared.inputs);
  if (!expected)
    return expected.takeError();
  bool json = arguments.has("json"), ok = true;
  llvm::Expected<Model> again = prepared.file->load(prepared.bindings);
  if (!again)
    return again.takeError();
  auto verdicts =
      judgeByBounds(arguments, *again, prepared.inputs, outputs, *expected);
  Array rows;
  for (auto [i, spec, fact, want, have] : llvm::enumerate(
           (*session)->model().outputs, facts, *expected, outputs)) {
    Difference difference =
        compare(want, have, tolerance->of(spec.dtype, fact));
    int64_t unknown = 0;
    if (verdicts) {
      difference.first = (*verdicts)[i].wrong;
      unknown = (*verdicts)[i].unknown;
    }
    ok &= difference.ok();
    if (json) {
      rows.push_back(Object{{"name", jsonText(spec.name)},
                            {"equal", difference.ok()},
                            {"max_relative", difference.maxRelative},
                            {"max_absolute", difference.maxAbsolute},
                            {"unknown", unknown},
                            {"message", jsonText(difference.first)}});
      continue;
    }
    llvm::outs() << "against " << name << ": output " << quoted(spec.name)
                 << "\n  " << elementsText(want, 10) << "\n  "
                 << (!difference.ok()                        ? "WRONG"
                     : unknown && unknown == want.elements() ? "NOT JUDGED"
                                                             : "equal")
                 << llvm::format(", largest error %.2g relative, %.2g "
                                 "absolute",
                                 difference.maxRelative,
                                 difference.maxAbsolute);
    if (unknown)
      llvm::outs() << "; " << unknown << " of " << want.elements()
                   << " elements may be anything and are not judged";
    llvm::outs() << '\n';
    if (!difference.ok())
      llvm::outs() << "  " << difference.first << '\n';
  }
  object["against"] = Object{{"target", name}, {"outputs", std::move(rows)}};
  return ok;
}

/// Times the session and adds what was measured to `object` or stdout.
static llvm::Error timeRuns(Prepared &prepared, int64_t repeats,
                            const Arguments &arguments, Object &object) {
  auto benchmark = prepared.session->benchmark(prepared.inputs, true);
  if (!benchmark)
    return benchmark.takeError();
  Progress progress(arguments);
  // A few runs settle clocks, caches and lazy loading.
  auto times = (*benchmark)
                   ->timeCalls(repeats, std::min<int64_t>(repeats, 10),
                               [&](int64_t done) {
                                 progress.show("runs: " + llvm::Twine(done) +
                                               " of " + llvm::Twine(repeats));
                               });
  progress.clear();
  if (!times)
    return withCode(ExitCode::Failed, times.takeError());
  const Times &device = times->device;
  if (arguments.has("json"))
    object["microseconds"] = toJson(device);
  else
    llvm::outs() << llvm::format("time:     %.2f us median of %lld runs, p10 "
                                 "%.2f, p90 %.2f\n",
                                 device.median, static_cast<long long>(repeats),
                                 device.p10, device.p90);
  return llvm::Error::success();
}

static llvm::Expected<ExitCode> run(const Arguments &arguments) {
  llvm::Expected<int64_t> repeats =
      arguments.integer("repeat", 0, 1, 1'000'000);
  if (!repeats)
    return repeats.takeError();
  // Before a long computation, not after it.
  if (arguments.has("out"))
    if (llvm::Error error = makeFolder(arguments.value("out")))
      return error;
  llvm::Expected<Prepared> prepared = prepare(arguments);
  if (!prepared)
    return prepared.takeError();
  Session &session = *prepared->session;
  auto outputs = session.run(prepared->inputs);
  if (!outputs)
    return outputs.takeError();
  if (arguments.has("out"))
    if (llvm::Error error = writeOutputs(arguments.value("out"), *outputs))
      return error;
  bool json = arguments.has("json");
  Object object = headOf(*prepared);
  Array list;
  for (auto [spec, tensor] : llvm::zip(session.model().outputs, *outputs)) {
    if (json)
      list.push_back(toJson(spec, tensor));
    else
      printOutput(llvm::outs(), spec, tensor);
  }
  object["outputs"] = std::move(list);
  bool equal = true;
  if (arguments.has("against")) {
    llvm::Expected<bool> result =
        runAgainst(arguments, *prepared, *outputs, object);
    if (!result)
      return result.takeError();
    equal = *result;
  }
  if (!json && session.compiled())
    llvm::outs() << toText(session.compiled()->summary)
                 << followedText(*session.compiled());
  if (!json && prepared->tuned)
    llvm::outs() << tune::toText(*prepared->tuned);
  if (std::string why = session.vendorProblem(); !json && !why.empty())
    llvm::outs() << "vendor:   kernels run in its place: " << why << '\n';
  if (*repeats)
    if (llvm::Error error = timeRuns(*prepared, *repeats, arguments, object))
      return error;
  if (json)
    printJson(std::move(object));
  return equal ? ExitCode::Ok : ExitCode::WrongResult;
}

CommandSpec fusec::tool::runCommand() {
  return {
      "run",
      "compile and run; inputs from files or random",
      "MODEL [options]",
      "Compiles a graph file (.onnx or .mlir), runs it once and prints its "
      "outputs.",
      concat<OptionSpec>(
          {{targetOptionSpec()},
           inputOptionSpecs(),
           {{"out", "DIR",
             "write outputs to DIR/output_0.npy, DIR/output_1.npy, ..."},
            {"against", "TARGET",
             "run on a second target and compare; exit code 1 if it differs",
             false, session::targetNames()},
            {"repeat", "N",
             "then run N times more and report the device time"}},
           toleranceOptionSpecs(),
           bindingOptionSpecs(),
           likeOptionSpecs(),
           tuneOptionSpecs(),
           compileOptionSpecs(),
           {{"json", "", "report as JSON"}},
           commonOptionSpecs()}),
      {{"fusec run softmax.mlir --target=reference",
        "random inputs, every op in f64"},
       {"fusec run model.onnx --input x=image.npy --out result",
        "one input from a file, outputs as result/output_0.npy, ..."},
       {"fusec run model.onnx --shape x=1x3x224x224 --repeat 100 --json",
        "fixes a size that the file leaves open; times it"},
       {"fusec run softmax.mlir --target=emulator --against=reference",
        "a second opinion"},
       {"fusec run model.onnx --like=small.onnx --target=emulator",
        "with the kernels of the same net in other sizes"},
       {"fusec run product.mlir --target=emulator --tune=0.5",
        "the fastest of several kernels, found within half a second"},
       {"fusec run model.onnx --inputs test_data_set_0 --target=emulator",
        "the GPU's kernels on the CPU, every access checked"}},
      1,
      1,
      {},
      run,
      concat<Rule>({{{{"rtol", "atol", "steps"},
                      {given("against")},
                      "nothing is compared",
                      "add --against=TARGET; 'fusec verify' compares with "
                      "stored outputs"},
                     {{"repeat"},
                      {absent("target", {"reference"})},
                      "the evaluator has no device time",
                      "--target=host, emulator or cuda has"}},
                    tuneRules(),
                    compileOptionRules()})};
}
