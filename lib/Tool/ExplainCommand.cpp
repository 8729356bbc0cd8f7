//===- ExplainCommand.cpp - fusec explain ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Explanation.h"
#include "Options.h"
#include "Progress.h"
#include "Tuning.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;

static llvm::Error writeExplanation(const Arguments &arguments,
                                    const Explanation &explanation) {
  bool quietPage = false;
  if (arguments.has("html")) {
    llvm::StringRef path = arguments.value("html");
    llvm::StringRef title = llvm::sys::path::filename(arguments.positionals[0]);
    if (llvm::Error error = writeOutput(path, toHtml(explanation, title)))
      return error;
    quietPage = path == "-";
  }
  if (arguments.has("json"))
    printJson(toJson(explanation));
  else if (arguments.has("dot"))
    llvm::outs() << toDot(explanation);
  else if (!quietPage)
    llvm::outs() << toText(explanation);
  return llvm::Error::success();
}

static llvm::Expected<ExitCode> explain(const Arguments &arguments) {
  llvm::Expected<TargetInfo> info = targetInfo(arguments.value("arch"));
  if (!info)
    return info.takeError();
  auto compile = parseCompileOptions(arguments, *info);
  if (!compile)
    return compile.takeError();
  llvm::Expected<Bindings> bindings = parseBindings(arguments);
  if (!bindings)
    return bindings.takeError();
  llvm::Expected<ModelFile> file = ModelFile::open(arguments.positionals[0]);
  if (!file)
    return file.takeError();
  std::shared_ptr<runtime::DiskCache> cache = kernelCache(arguments);
  bool planOnly = arguments.has("plan-only");
  RecordOption record = planOnly
                            ? RecordOption{nullptr, "--plan-only was given"}
                            : recordOption(arguments, cache.get());
  bool useVendor = !arguments.has("no-vendor");
  auto chooser = std::make_shared<tune::RecordChooser>(
      record.record, tune::machineOf(*info, /*device=*/nullptr), record.why,
      useVendor);
  if (useVendor)
    compile->vendor = chooser;
  compile->chooser = std::move(chooser);
  Progress progress(arguments);
  ExplainOptions options{*compile, planOnly, arguments.has("compile-times"),
                         std::move(cache),
                         [&](llvm::StringRef text) { progress.show(text); }};
  llvm::Expected<Explanation> e = explainModel(*file, *bindings, options);
  progress.clear();
  if (!e)
    return e.takeError();
  if (llvm::Error error = writeExplanation(arguments, *e))
    return error;
  return ExitCode::Ok;
}

CommandSpec fusec::tool::explainCommand() {
  return {
      "explain",
      "which ops became which kernel, and why others did not fuse",
      "MODEL [options]",
      "Shows for every kernel what it holds, the bytes it must move and those "
      "it moves,\nits floor (minimum bytes at the memory bandwidth, measured "
      "if there is such a GPU),\nthe predicted time, and registers, shared "
      "memory, spills and occupancy if NVRTC is\nthere. Shows for every edge "
      "that was not fused the reason, what it costs and the\nsmallest change "
      "that would allow it. Needs no GPU.",
      concat<OptionSpec>(
          {{{"json", "", "report as JSON (docs/tool.md has the schema)"},
            {"dot", "", "the kernels as a graph for Graphviz"},
            {"html", "FILE", "also write one page with picture and tables"},
            {"plan-only", "",
             "use neither NVRTC nor a GPU: faster, the same everywhere"},
            {"compile-times", "",
             "also how long NVRTC takes for each kernel by itself: user "
             "processor\ntime, median of three"}},
           {recordOptionSpec(), vendorOptionSpec()},
           bindingOptionSpecs(),
           compileOptionSpecs(),
           commonOptionSpecs()}),
      {{"fusec explain softmax.mlir", "one kernel: everything fuses"},
       {"fusec explain model.onnx --html=plan.html",
        "a page for a browser, and the text here"},
       {"fusec explain model.onnx --shape x=1x3x224x224 --plan-only",
        "the plan for an H200"},
       {"fusec explain model.onnx --arch=sm_80 --json",
        "the plan for an A100, for programs"},
       {"fusec explain softmax.mlir --dot",
        "| dot -Tsvg > plan.svg makes a picture"}},
      1,
      1,
      {},
      explain,
      concat<Rule>({{{{"json"},
                      {absent("dot")},
                      "both want stdout",
                      "give one of them; --html=FILE goes with either"},
                     {{"compile-times"},
                      {absent("plan-only")},
                      "NVRTC is not asked",
                      "leave one of them"},
                     {{"compile-times"},
                      {absent("dot")},
                      "the graph shows no times",
                      "leave one of them; --json has them"},
                     {{"json", "dot"},
                      {absent("html", {"-"})},
                      "both want stdout",
                      "give a file for the page, as --html=plan.html"}},
                    {{{"no-tuning-record", "no-vendor"},
                      {absent("plan-only")},
                      "a plan for every machine looks at no record",
                      "leave out one of them"}},
                    compileOptionRules()})};
}
