//===- CompileCommand.cpp - fusec compile ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Inputs.h"
#include "Like.h"
#include "Report.h"
#include "StandaloneCuda.h"
#include "Tuning.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace fusec;
using namespace fusec::tool;
using driver::Stage;
using llvm::StringRef;

namespace {
enum class Emit : uint8_t {
  Graph,
  Fused,
  Tile,
  Simt,
  Cuda,
  StandaloneCuda,
  Ptx,
  Cubin,
  Llvm
};
} // namespace

static constexpr StringRef kEmitNames[] = {
    "graph", "fused", "tile", "simt", "cuda", "cu", "ptx", "cubin", "llvm"};

/// `text` is one of the names.
static Emit parseEmit(StringRef text) {
  return static_cast<Emit>(llvm::find(kEmitNames, text) - kEmitNames);
}

/// Constants up to this many elements are printed with --elide.
static constexpr int64_t kElideAbove = 16;

static std::string printed(mlir::Operation *op, bool elide) {
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  if (elide)
    flags.elideLargeElementsAttrs(kElideAbove)
        .elideLargeResourceString(kElideAbove);
  op->print(os, flags);
  os << '\n';
  return text;
}

/// The stages that need no kernel: they work for every graph.
static llvm::Expected<std::string>
emitGraph(Model &model, const driver::CompileOptions &options, bool fused,
          bool elide) {
  if (llvm::Error error = driver::simplifyGraph(*model.module, options))
    return withCode(ExitCode::Unsupported, std::move(error));
  if (fused)
    if (auto plan = driver::planGraph(*model.module, options); !plan)
      return withCode(ExitCode::Unsupported, plan.takeError());
  return printed(*model.module, elide);
}

/// IR of kernels. It is of use also where a later stage fails.
static llvm::Expected<std::string>
emitKernelIr(Model &model, const driver::CompileOptions &options,
             Stage wanted) {
  std::string text;
  auto observe = [&](Stage stage, mlir::Operation *op) {
    if (stage == wanted)
      text = printed(op, /*elide=*/false);
  };
  llvm::Expected<Compiled> compiled = compileModel(model, options, observe);
  if (compiled)
    return text;
  llvm::Error error =
      withCode(ExitCode::Unsupported, compiled.takeError(), kCompileHelp);
  if (text.empty())
    return error;
  report(std::move(error));
  return text;
}

static llvm::Expected<std::string>
emitBinary(const runtime::Program &program, const TargetInfo &info,
           std::shared_ptr<runtime::DiskCache> cache, bool cubin) {
  auto nvrtc = runtime::Nvrtc::open();
  if (!nvrtc)
    return toolError(ExitCode::NoDevice, llvm::toString(nvrtc.takeError()),
                     "--emit=cuda needs no NVRTC");
  runtime::NvrtcCompiler compiler(*nvrtc, nvrtcOptions(info), std::move(cache));
  auto module = compiler.compileTogether(program.kernels);
  if (!module)
    return withCode(ExitCode::Failed, module.takeError());
  if (!cubin)
    return (*module)->ptx;
  return std::string((*module)->cubin.begin(), (*module)->cubin.end());
}

static llvm::Expected<std::string>
emit(Model &model, const driver::CompileOptions &options,
     const Arguments &arguments, Emit what,
     std::shared_ptr<session::PlannedModel> like) {
  bool elide = arguments.has("elide");
  switch (what) {
  case Emit::Graph:
  case Emit::Fused:
    return emitGraph(model, options, what == Emit::Fused, elide);
  case Emit::Tile:
    return emitKernelIr(model, options, Stage::Tile);
  case Emit::Simt:
    return emitKernelIr(model, options, Stage::Simt);
  case Emit::Llvm: {
    llvm::Expected<Compiled> compiled = compileForHost(model, options);
    if (!compiled)
      return withCode(ExitCode::Unsupported, compiled.takeError(),
                      kCompileHelp);
    if (!arguments.has("quiet"))
      llvm::errs() << toText(compiled->summary);
    return kernelText(compiled->compilation.program);
  }
  case Emit::Cuda:
  case Emit::StandaloneCuda:
  case Emit::Ptx:
  case Emit::Cubin:
    break;
  }
  llvm::Expected<Compiled> compiled =
      like ? session::compileModelLike(model, std::move(like), {})
           : compileModel(model, options, {});
  if (!compiled)
    return withCode(ExitCode::Unsupported, compiled.takeError(), kCompileHelp);
  if (!arguments.has("quiet"))
    llvm::errs() << toText(compiled->summary) << followedText(*compiled);
  const runtime::Program &program = compiled->compilation.program;
  if (what == Emit::Cuda)
    return kernelText(program);
  if (what == Emit::StandaloneCuda)
    return standaloneCuda(program, options.target.name);
  return emitBinary(program, options.target, kernelCache(arguments),
                    what == Emit::Cubin);
}

/// Lets the options choose by the tuning record; with --tune searches on the
/// GPU first.
static llvm::Error chooseKernels(const Arguments &arguments, Model &model,
                                 driver::CompileOptions &options) {
  std::shared_ptr<runtime::DiskCache> cache = kernelCache(arguments);
  std::optional<Target> target;
  if (arguments.has("tune")) {
    if (llvm::Error error = checkLikeAndTune(arguments))
      return error;
    auto opened = openTarget(name(TargetKind::Cuda), arguments.value("arch"),
                             cache, arguments.has("quiet"));
    if (!opened)
      return opened.takeError();
    target = std::move(*opened);
    options.target = target->info;
  }
  auto report = applyTuning(arguments, *model.module,
                            target ? &*target : nullptr, cache.get(), options);
  if (!report)
    return report.takeError();
  if (*report && !arguments.has("quiet"))
    llvm::errs() << tune::toText(**report);
  return llvm::Error::success();
}

static llvm::Expected<ExitCode> compile(const Arguments &arguments) {
  Emit what = parseEmit(arguments.value("emit", "cuda"));
  StringRef path = arguments.value("o", "-");
  if (what == Emit::Cubin && path == "-" && ::isatty(STDOUT_FILENO))
    return toolError(ExitCode::Usage, "a cubin is not for terminals",
                     "give a file with -o");
  llvm::Expected<TargetInfo> info = targetInfo(arguments.value("arch"));
  if (!info)
    return info.takeError();
  auto options = parseCompileOptions(arguments, *info);
  if (!options)
    return options.takeError();
  llvm::Expected<Bindings> bindings = parseBindings(arguments);
  if (!bindings)
    return bindings.takeError();
  llvm::Expected<ModelFile> file = ModelFile::open(arguments.positionals[0]);
  if (!file)
    return file.takeError();
  llvm::Expected<Model> model = file->load(*bindings);
  if (!model)
    return model.takeError();
  if (llvm::Error error = chooseKernels(arguments, *model, *options))
    return error;
  auto like = parseLike(arguments, *bindings, *options);
  if (!like)
    return like.takeError();
  llvm::Expected<std::string> text =
      emit(*model, *options, arguments, what, std::move(*like));
  if (!text)
    return text.takeError();
  if (llvm::Error error = writeOutput(path, *text))
    return error;
  return ExitCode::Ok;
}

CommandSpec fusec::tool::compileCommand() {
  return {
      "compile",
      "graph to IR of any stage, CUDA C++, PTX, cubin",
      "MODEL [options]",
      "Compiles a graph file (.onnx, or MLIR text: .mlir, or - for stdin) and "
      "writes one\nstage of the result.",
      concat<OptionSpec>(
          {{{"emit", "STAGE",
             "graph  primitive ops, simplified\n"
             "fused  one graph.fusion per kernel\n"
             "tile   one block program per kernel\n"
             "simt   one thread program per kernel\n"
             "cuda   CUDA C++ on fusec's prelude (default)\n"
             "cu     a file for nvcc: prelude, kernels and a main that runs\n"
             "       them on random inputs and prints checksums\n"
             "ptx, cubin  through NVRTC; need no GPU\n"
             "llvm   LLVM IR of the host target",
             false, kEmitNames},
            {"elide", "",
             "leave out the values of large constants (graph, fused)"},
            {"o", "FILE", "write to FILE instead of stdout"}},
           bindingOptionSpecs(),
           likeOptionSpecs(),
           tuneOptionSpecs(),
           compileOptionSpecs(),
           commonOptionSpecs()}),
      {{"fusec compile softmax.mlir --emit=fused", "what became one kernel"},
       {"fusec compile model.onnx --shape x=1x3x224x224 --emit=cuda",
        "the kernels as text"},
       {"fusec compile softmax.mlir --emit=cu -o model.cu",
        "a program that stands alone: nvcc -std=c++17 -fmad=false "
        "-arch=sm_90a model.cu"},
       {"fusec compile model.onnx --tune=60 --emit=cubin -o model.cubin",
        "with the fastest kernels that a minute of search on the GPU finds"},
       {"fusec compile softmax.mlir --emit=ptx --arch=sm_80",
        "code for another GPU than the default"}},
      1,
      1,
      {},
      compile,
      concat<Rule>(
          {{{{"elide"},
             {given("emit", {"graph", "fused"})},
             "other stages have no constants in their text",
             "add --emit=graph or --emit=fused"},
            {{"like", "like-dim"},
             {absent("emit", {"graph", "fused", "tile", "simt", "llvm"})},
             "kernels of another size are taken over as text",
             "--emit=cuda, cu, ptx or cubin"},
            {{"tune"},
             {absent("emit", {"graph", "fused", "tile", "simt", "llvm"})},
             "what is found are texts of kernels",
             "--emit=cuda, cu, ptx or cubin"},
            {{"no-tuning-record", "no-vendor"},
             {absent("emit", {"graph", "fused", "llvm"})},
             "choices are among GPU kernels",
             "--emit=tile, simt, cuda, cu, ptx or cubin"},
            {{"batch-invariant"},
             {absent("emit", {"graph", "fused"})},
             "graph and regions are printed for the sizes at hand",
             "--emit=tile, simt, llvm, cuda, cu, ptx or cubin"},
            {{"row-block"},
             {absent("emit", {"graph", "llvm"})},
             "clusters of blocks are of GPU kernels",
             "--emit=fused, tile, simt, cuda, cu, ptx or cubin"}},
           compileOptionRules()})};
}
