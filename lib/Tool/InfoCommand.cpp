//===- InfoCommand.cpp - fusec info ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a bug report needs: versions, devices, NVRTC, the cache, and what of
// ONNX is understood.
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "DeviceReportText.h"
#include "Options.h"
#include "Report.h"
#include "Version.h"
#include "fusec/Frontend/Onnx/Import.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::json::Array;
using llvm::json::Object;

namespace {
/// The cache that a compilation would use.
struct CacheState {
  /// Empty where the environment wants none.
  std::string directory;
  runtime::CacheReport report;
  std::string error;
};
} // namespace

static CacheState cacheState() {
  CacheState state;
  if (!runtime::DiskCache::standard())
    return state;
  state.directory = runtime::DiskCache::standardDirectory();
  auto report = runtime::inspectCache(state.directory, /*verify=*/false);
  if (report)
    state.report = std::move(*report);
  else
    state.error = llvm::toString(report.takeError());
  return state;
}

static void print(const runtime::DeviceReport &devices,
                  const CacheState &cache) {
  llvm::raw_ostream &os = llvm::outs();
  os << "fusec:  " << versionText() << '\n'
     << "LLVM:   " << LLVM_VERSION_STRING << " (with its MLIR)\n"
     << "ONNX:   opset " << onnx::kOldestOpset << " to " << onnx::kNewestOpset
     << ", " << onnx::supportedOperators().size() << " operators\n";
  print(os, devices);
  os << "cache:  ";
  if (cache.directory.empty())
    os << "none (FUSEC_CACHE=off, or no folder is named)\n";
  else if (!cache.error.empty())
    os << quoted(cache.directory) << " (" << cache.error << ")\n";
  else
    os << quoted(cache.directory) << ", " << cache.report.kernels
       << " kernels in " << bytesText(double(cache.report.bytes)) << '\n';
}

static Object onnxJson() {
  Array operators;
  for (llvm::StringRef name : onnx::supportedOperators())
    operators.push_back(name);
  auto count = int64_t(operators.size());
  return Object{{"oldest_opset", onnx::kOldestOpset},
                {"newest_opset", onnx::kNewestOpset},
                {"operator_count", count},
                {"operators", std::move(operators)}};
}

static llvm::Expected<Object> toJson(const runtime::DeviceReport &devices,
                                     const CacheState &cache) {
  llvm::Expected<llvm::json::Value> report =
      llvm::json::parse(runtime::toJSON(devices));
  if (!report)
    return report.takeError();
  Object object{{"version", versionText()},
                {"llvm_version", LLVM_VERSION_STRING},
                {"onnx", onnxJson()},
                {"machine", std::move(*report)}};
  if (cache.directory.empty())
    object["cache"] = nullptr;
  else
    object["cache"] = Object{{"directory", jsonText(cache.directory)},
                             {"kernels", int64_t(cache.report.kernels)},
                             {"bytes", int64_t(cache.report.bytes)},
                             {"error", jsonText(cache.error)}};
  return object;
}

static llvm::Expected<ExitCode> info(const Arguments &arguments) {
  runtime::DeviceReport devices = runtime::deviceReport();
  CacheState cache = cacheState();
  if (!arguments.has("json")) {
    print(devices, cache);
    return ExitCode::Ok;
  }
  llvm::Expected<Object> object = toJson(devices, cache);
  if (!object)
    return object.takeError();
  printJson(std::move(*object));
  return ExitCode::Ok;
}

CommandSpec fusec::tool::infoCommand() {
  return {"info",
          "versions, devices, NVRTC, cache and ONNX operators",
          "[options]",
          "Shows what this fusec is and finds: what a bug report should have.",
          concat<OptionSpec>(
              {{{"json", "", "report as JSON, with the names of operators"}},
               commonOptionSpecs()}),
          {{"fusec info", "a first look"},
           {"fusec info --json", "for a bug report or a script"}},
          0,
          0,
          {},
          info};
}
