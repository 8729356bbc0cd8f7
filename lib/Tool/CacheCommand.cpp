//===- CacheCommand.cpp - fusec cache -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CacheTuning.h"
#include "Commands.h"
#include "Options.h"
#include "Report.h"
#include "fusec/Runtime/Cuda/DiskCache.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;
using runtime::CacheReport;

static constexpr llvm::StringRef kActions[] = {"stats", "verify", "clear",
                                               "tuning"};

static void print(llvm::StringRef action, const std::string &directory,
                  const CacheReport &report) {
  llvm::raw_ostream &os = llvm::outs();
  os << "folder:  " << quoted(directory) << '\n'
     << (action == "clear" ? "removed: " : "holds:   ") << report.kernels
     << " kernels in " << report.modules << " files, "
     << bytesText(double(report.bytes)) << '\n';
  if (action == "verify")
    os << "damaged: " << report.damaged.size() << " (removed)\n";
  for (const std::string &name : report.damaged)
    os << "  " << quoted(name) << '\n';
}

static void printJson(llvm::StringRef action, const std::string &directory,
                      const CacheReport &report) {
  llvm::json::Object object{{"action", jsonText(action)},
                            {"directory", jsonText(directory)},
                            {"modules", int64_t(report.modules)},
                            {"kernels", int64_t(report.kernels)},
                            {"bytes", int64_t(report.bytes)}};
  if (action == "verify") {
    llvm::json::Array names;
    for (const std::string &name : report.damaged)
      names.push_back(jsonText(name));
    object["damaged"] = std::move(names);
  }
  tool::printJson(std::move(object));
}

static llvm::Expected<ExitCode> cache(const Arguments &arguments) {
  llvm::StringRef action = arguments.positionals.front();
  std::string directory = arguments.value("dir").str();
  if (directory.empty())
    directory = runtime::DiskCache::standardDirectory();
  if (directory.empty())
    return toolError(ExitCode::Usage, "no folder for the cache is named",
                     "set FUSEC_CACHE_DIR or HOME, or give --dir");
  if (llvm::Error error = checkCacheTuning(arguments, action))
    return error;
  if (action == "tuning")
    return cacheTuning(arguments, directory);
  llvm::Expected<CacheReport> report =
      action == "clear"
          ? runtime::clearCache(directory)
          : runtime::inspectCache(directory, /*verify=*/action == "verify");
  if (!report)
    return withCode(ExitCode::Usage, report.takeError());
  if (arguments.has("json"))
    ::printJson(action, directory, *report);
  else
    print(action, directory, *report);
  return report->damaged.empty() ? ExitCode::Ok : ExitCode::WrongResult;
}

CommandSpec fusec::tool::cacheCommand() {
  return {
      "cache",
      "the compiled kernels and measured choices kept on disk",
      "stats|verify|clear|tuning [options]",
      "Looks after the compiled kernels, and the choices of --tune, kept on "
      "disk: in FUSEC_CACHE_DIR, else "
      "in\nXDG_CACHE_HOME/fusec, else in ~/.cache/fusec. FUSEC_CACHE=off keeps "
      "none,\nFUSEC_CACHE_SIZE=512M bounds them (default: 1G). Whoever can "
      "write to the\nfolder can run code on the GPU as its owner.",
      concat<OptionSpec>({{{"dir", "DIR", "another folder than that"},
                           {"json", "", "report as JSON"}},
                          cacheTuningOptionSpecs(),
                          commonOptionSpecs()}),
      {{"fusec cache stats", "where it is and how much is in it"},
       {"fusec cache verify",
        "checks every file and removes those that are damaged; exit code 1 if "
        "there were any"},
       {"fusec cache clear",
        "removes all kernels; they are compiled again when needed"},
       {"fusec cache tuning", "the choices that --tune found, which stay"},
       {"fusec cache tuning --json",
        "the same for 'fusec cache tuning --import' on another machine"}},
      1,
      1,
      kActions,
      cache};
}
