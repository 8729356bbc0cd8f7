//===- Options.cpp - options that commands share --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "fusec/Support/File.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::StringRef;

static constexpr StringRef kArchitectures[] = {"sm_90a", "sm_80"};
static constexpr StringRef kOnOff[] = {"on", "off"};

/// The names of the passes that may be left out.
static llvm::ArrayRef<StringRef> passNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all;
    for (const driver::OptionalPass &pass : driver::optionalPasses())
      all.push_back(pass.name);
    return all;
  }();
  return names;
}

std::vector<OptionSpec> fusec::tool::compileOptionSpecs() {
  return {{"arch", "ARCH",
           "plan and compile for sm_90a or sm_80 (default: the GPU's, "
           "else\nsm_90a)",
           false, kArchitectures},
          {"exact", "", "round after every op, as the unfused graph does"},
          {"batch-invariant", "",
           "make every choice that changes the order of a sum as for one size\n"
           "of the outermost axis, so that an item's results have the same\n"
           "bits in batches of all sizes"},
          {"fuse", "on|off", "off makes one kernel per op (default: on)", false,
           kOnOff},
          {"disable-pass", "NAME",
           "leave out an optional pass, to find out which one is at fault",
           true, passNames()},
          {"row-block", "BYTES",
           "keep rows that are read several times in the shared memory of\n"
           "clusters, this much a block, wherever they are longer"},
          {"no-cache", "",
           "neither read nor write compiled kernels on disk (see\n"
           "'fusec cache --help')"}};
}

std::vector<Rule> fusec::tool::compileOptionRules() {
  return {
      {{"arch"},
       {absent("target", {"reference"}),
        given("against", {"cuda", "host", "emulator"})},
       "the evaluator compiles nothing",
       "leave it out, or take --target=host, emulator or cuda"},
      {{"row-block"},
       {absent("target", {"host", "reference"}),
        given("against", {"cuda", "emulator"})},
       "clusters of blocks are of GPU kernels",
       "leave it out, or take --target=emulator or cuda"},
      {{"row-block"},
       {absent("arch", {"sm_80"})},
       "that GPU has no clusters",
       "leave it out, or take --arch=sm_90a"},
  };
}

std::vector<OptionSpec> fusec::tool::bindingOptionSpecs() {
  return {{"shape", "NAME=1x3x224x224",
           "shape of an ONNX input; an empty shape is a scalar", true},
          {"dim", "NAME=SIZE", "size of a symbolic dimension of ONNX inputs",
           true}};
}

OptionSpec fusec::tool::targetOptionSpec() {
  return {"target", "TARGET",
          "cuda, host, emulator (GPU kernels on the CPU, every "
          "access\nchecked) or reference (op by op in f64); default: cuda if "
          "there\nis a GPU, else host",
          false, session::targetNames()};
}

std::vector<OptionSpec> fusec::tool::commonOptionSpecs() {
  return {{"quiet", "", "no progress and no notes on stderr, only errors"},
          {"help", "", "print this help"},
          {"h", "", "the same"}};
}

std::shared_ptr<runtime::DiskCache>
fusec::tool::kernelCache(const Arguments &arguments) {
  return arguments.has("no-cache") ? nullptr : runtime::DiskCache::standard();
}

llvm::Expected<driver::CompileOptions>
fusec::tool::parseCompileOptions(const Arguments &arguments,
                                 const TargetInfo &info) {
  driver::CompileOptions options;
  options.target = info;
  options.numerics =
      arguments.has("exact") ? NumericsMode::Exact : NumericsMode::Default;
  options.batchInvariant = arguments.has("batch-invariant");
  options.fuse = arguments.value("fuse", "on") == "on";
  if (arguments.has("row-block") &&
      (arguments.value("row-block")
           .getAsInteger(10, options.target.rowBlockBytes) ||
       options.target.rowBlockBytes <= 0))
    return toolError(ExitCode::Usage,
                     "--row-block: expected a number of bytes, found " +
                         quoted(arguments.value("row-block")));
  for (StringRef pass : arguments.values("disable-pass"))
    options.disabledPasses.push_back(pass.str());
  return options;
}

/// "1x3x224" as sizes; "" is a scalar.
static llvm::Expected<std::vector<int64_t>> parseShape(StringRef text) {
  std::vector<int64_t> shape;
  llvm::SmallVector<StringRef> parts;
  if (!text.empty())
    text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0)
      return toolError(ExitCode::Usage,
                       "--shape: expected sizes with x between them, such as "
                       "1x3x224x224, found " +
                           quoted(text));
    shape.push_back(size);
  }
  if (llvm::Expected<int64_t> count = elementCount(shape); !count)
    return withCode(ExitCode::Usage, count.takeError());
  return shape;
}

llvm::Expected<std::pair<StringRef, int64_t>>
fusec::tool::parseDim(StringRef option, StringRef text) {
  auto [name, value] = text.rsplit('=');
  int64_t size;
  if (name.size() == text.size() || value.getAsInteger(10, size) || size < 0)
    return toolError(ExitCode::Usage,
                     option + ": expected NAME=SIZE, found " + quoted(text));
  return std::pair(name, size);
}

llvm::Expected<Bindings>
fusec::tool::parseBindings(const Arguments &arguments) {
  Bindings bindings;
  // Names may hold '=': the value starts after the last one.
  for (StringRef text : arguments.values("shape")) {
    auto [name, value] = text.rsplit('=');
    if (name.size() == text.size())
      return toolError(ExitCode::Usage, "--shape: expected NAME=1x3x224x224, "
                                        "found " +
                                            quoted(text));
    llvm::Expected<std::vector<int64_t>> shape = parseShape(value);
    if (!shape)
      return shape.takeError();
    if (!bindings.shapes.try_emplace(name, std::move(*shape)).second)
      return toolError(ExitCode::Usage,
                       "--shape names " + quoted(name) + " twice",
                       "leave one of them");
  }
  for (StringRef text : arguments.values("dim")) {
    auto dim = parseDim("--dim", text);
    if (!dim)
      return dim.takeError();
    if (!bindings.dims.try_emplace(dim->first, dim->second).second)
      return toolError(ExitCode::Usage,
                       "--dim names " + quoted(dim->first) + " twice",
                       "leave one of them");
  }
  return bindings;
}

llvm::Error fusec::tool::writeOutput(StringRef path, StringRef contents) {
  if (path != "-")
    return withCode(ExitCode::Usage,
                    writeFile(path, {contents.data(), contents.size()}));
  // Errors of stdout are looked at once, at the end of fusecMain.
  llvm::outs() << contents;
  return llvm::Error::success();
}

llvm::Error fusec::tool::makeFolder(StringRef path) {
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    return toolError(ExitCode::Usage, "cannot make the folder " + quoted(path) +
                                          ": " + error.message());
  // An existing file of that name is no error to create_directories.
  if (!llvm::sys::fs::is_directory(path))
    return toolError(ExitCode::Usage, "cannot make the folder " + quoted(path) +
                                          ": it is not a folder");
  return llvm::Error::success();
}
