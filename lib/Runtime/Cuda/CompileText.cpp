//===- CompileText.cpp - one NVRTC program --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC compiles for a real architecture, which yields the cubin; the PTX that
// it came from is kept by NVRTC and read back at no cost.
//===----------------------------------------------------------------------===//
#include "CompileText.h"
#include "NvrtcLibrary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

std::string fusec::runtime::nvrtcArchitecture(unsigned computeCapability) {
  return "sm_" + std::to_string(computeCapability) +
         (computeCapability >= 90 ? "a" : "");
}

std::vector<std::string>
fusec::runtime::commandLine(const Nvrtc &nvrtc, const NvrtcOptions &options) {
  std::vector<std::string> line = {
      "--gpu-architecture=" + nvrtcArchitecture(options.architecture),
      "--std=c++17",
      // Where a*b+c is fused is decided when text is generated.
      "--fmad=false",
      // Nothing outside the headers handed over is ever read.
      "--no-source-include",
  };
  // The only source of spill counts.
  if (nvrtc.majorVersion() >= 12)
    line.push_back("--ptxas-options=-v");
  if (options.lineInfo)
    line.push_back("--generate-line-info");
  if (options.fastCompile)
    line.push_back("--Ofast-compile=max");
  llvm::append_range(line, options.extraOptions);
  return line;
}

static Error checkArchitecture(const Nvrtc &nvrtc, unsigned architecture) {
  llvm::ArrayRef<int> known = nvrtc.architectures();
  if (llvm::is_contained(known, static_cast<int>(architecture)))
    return Error::success();
  std::string names = llvm::join(
      llvm::map_range(known, [](int cc) { return std::to_string(cc); }), ", ");
  return llvm::createStringError(
      "NVRTC %d.%d compiles for compute capabilities %s, found %u",
      nvrtc.majorVersion(), nvrtc.minorVersion(), names.c_str(), architecture);
}

namespace {
// An nvrtcProgram that destroys itself.
class TextProgram {
public:
  explicit TextProgram(const Nvrtc::Impl &api) : api(api) {}
  TextProgram(const TextProgram &) = delete;
  ~TextProgram() {
    if (handle)
      api.destroyProgram(&handle);
  }
  Error create(const std::string &name, const std::string &text,
               llvm::ArrayRef<NvrtcHeader> headers);
  Error compile(llvm::ArrayRef<std::string> line);
  // Text or bytes of unknown size; NVRTC counts a closing zero for texts.
  using SizeFunction = NvrtcResult (*)(NvrtcProgram, size_t *);
  using GetFunction = NvrtcResult (*)(NvrtcProgram, char *);
  Expected<std::vector<char>> read(const char *what, SizeFunction size,
                                   GetFunction get) const;
  std::string log() const;

private:
  Error fail(const char *function, NvrtcResult code) const;
  const Nvrtc::Impl &api;
  NvrtcProgram handle = nullptr;
};
} // namespace

Error TextProgram::fail(const char *function, NvrtcResult code) const {
  return llvm::createStringError("%s failed: %s (code %d)", function,
                                 api.getErrorString(code), code);
}

Error TextProgram::create(const std::string &name, const std::string &text,
                          llvm::ArrayRef<NvrtcHeader> headers) {
  std::vector<const char *> texts, names;
  for (const NvrtcHeader &header : headers) {
    texts.push_back(header.text.c_str());
    names.push_back(header.name.c_str());
  }
  if (NvrtcResult code = api.createProgram(&handle, text.c_str(), name.c_str(),
                                           static_cast<int>(headers.size()),
                                           texts.data(), names.data())) {
    handle = nullptr;
    return fail("nvrtcCreateProgram", code);
  }
  return Error::success();
}

Error TextProgram::compile(llvm::ArrayRef<std::string> line) {
  std::vector<const char *> options;
  for (const std::string &option : line)
    options.push_back(option.c_str());
  NvrtcResult code = api.compileProgram(
      handle, static_cast<int>(options.size()), options.data());
  if (code == 0)
    return Error::success();
  std::string message = llvm::toString(fail("nvrtcCompileProgram", code));
  return llvm::createStringError("%s; options: %s; log:\n%s", message.c_str(),
                                 llvm::join(line, " ").c_str(), log().c_str());
}

Expected<std::vector<char>>
TextProgram::read(const char *what, SizeFunction size, GetFunction get) const {
  size_t bytes = 0;
  if (NvrtcResult code = size(handle, &bytes))
    return fail(what, code);
  std::vector<char> data(bytes);
  if (bytes == 0)
    return data;
  if (NvrtcResult code = get(handle, data.data()))
    return fail(what, code);
  return data;
}

std::string TextProgram::log() const {
  Expected<std::vector<char>> data =
      read("nvrtcGetProgramLog", api.getProgramLogSize, api.getProgramLog);
  if (!data)
    return llvm::toString(data.takeError());
  return llvm::StringRef(data->data(), data->size()).rtrim('\0').str();
}

// Splits the assembler's report from what people should read. A file of
// several kernels has one group of lines per kernel:
//   ptxas info    : Function properties for NAME
//   ptxas         .     0 bytes stack frame, 8 bytes spill stores, ...
static void splitLog(llvm::StringRef log, TextResult &result,
                     std::string &warnings) {
  llvm::StringRef function;
  for (llvm::StringRef rest = log; !rest.empty();) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    bool info = line.starts_with("ptxas info");
    bool more = line.starts_with("ptxas") && line.contains(" . ");
    if (!info && !more) {
      if (!line.trim().empty())
        warnings += (line + "\n").str();
      continue;
    }
    if (auto [before, name] = line.split("Function properties for ");
        !name.empty())
      function = name.trim();
    auto [head, tail] = line.split(" bytes stack frame, ");
    SpillBytes spills;
    if (!tail.consumeInteger(10, spills.stores) &&
        tail.consume_front(" bytes spill stores, ") &&
        !tail.consumeInteger(10, spills.loads) && !function.empty())
      result.spills[function] = spills;
  }
}

Expected<TextResult>
fusec::runtime::compileWithReport(const Nvrtc &nvrtc, llvm::StringRef name,
                                  llvm::StringRef text,
                                  const NvrtcOptions &options) {
  if (Error error = checkArchitecture(nvrtc, options.architecture))
    return std::move(error);
  const Nvrtc::Impl &api = nvrtc.get();
  TextProgram program(api);
  if (Error error = program.create(name.str(), text.str(), options.headers))
    return std::move(error);
  if (Error error = program.compile(commandLine(nvrtc, options)))
    return std::move(error);
  auto ptx = program.read("nvrtcGetPTX", api.getPTXSize, api.getPTX);
  if (!ptx)
    return ptx.takeError();
  auto cubin = program.read("nvrtcGetCUBIN", api.getCUBINSize, api.getCUBIN);
  if (!cubin)
    return cubin.takeError();

  auto module = std::make_shared<CompiledModule>();
  module->ptx = llvm::StringRef(ptx->data(), ptx->size()).rtrim('\0').str();
  module->cubin = std::move(*cubin);
  TextResult result;
  splitLog(program.log(), result, module->log);
  result.module = std::move(module);
  return result;
}

Expected<std::shared_ptr<const CompiledModule>>
fusec::runtime::compileText(const Nvrtc &nvrtc, llvm::StringRef name,
                            llvm::StringRef text, const NvrtcOptions &options) {
  Expected<TextResult> result = compileWithReport(nvrtc, name, text, options);
  if (!result)
    return result.takeError();
  return result->module;
}
