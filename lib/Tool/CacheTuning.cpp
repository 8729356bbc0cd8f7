//===- CacheTuning.cpp - fusec cache tuning -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CacheTuning.h"
#include "Report.h"
#include "fusec/Runtime/Cuda/TuningRecord.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace fusec;
using namespace fusec::tool;
using runtime::TuningEntry;
using runtime::TuningRecord;

std::vector<OptionSpec> fusec::tool::cacheTuningOptionSpecs() {
  return {{"import", "FILE",
           "tuning: add the entries of a file that --json wrote; - is stdin"},
          {"clear", "", "tuning: remove all entries"}};
}

llvm::Error fusec::tool::checkCacheTuning(const Arguments &arguments,
                                          llvm::StringRef action) {
  for (llvm::StringRef option : {"import", "clear"})
    if (arguments.has(option) && action != "tuning")
      return toolError(ExitCode::Usage,
                       spelled(option) +
                           " is for 'fusec cache tuning', found "
                           "'fusec cache " +
                           action + "'");
  if (arguments.has("import") && arguments.has("clear"))
    return toolError(ExitCode::Usage, "--import and --clear are both given",
                     "call fusec twice");
  return llvm::Error::success();
}

/// Adds the entries of a file that are no older than what is there, and says
/// how many.
static llvm::Expected<size_t> importEntries(llvm::StringRef path,
                                            const TuningRecord &record) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return toolError(ExitCode::Usage, "cannot read " + quoted(path) + ": " +
                                          file.getError().message());
  auto entries = runtime::parseTuningEntries((*file)->getBuffer());
  if (!entries)
    return withCode(ExitCode::Usage, entries.takeError());
  size_t added = 0;
  for (const TuningEntry &entry : *entries) {
    std::optional<TuningEntry> own = record.find(entry.key);
    if (own && own->date > entry.date)
      continue;
    if (llvm::Error error = record.insert(entry))
      return toolError(ExitCode::Usage, llvm::toString(std::move(error)) +
                                            " (" + llvm::Twine(added) +
                                            " choices were added)");
    ++added;
  }
  return added;
}

/// "2026-11-30".
static std::string dayOf(int64_t date) {
  std::time_t seconds = std::time_t(date);
  struct tm parts = {};
  char text[32];
  if (!::gmtime_r(&seconds, &parts) ||
      !std::strftime(text, sizeof text, "%F", &parts))
    return std::to_string(date);
  return text;
}

static void print(const TuningEntry &entry) {
  llvm::raw_ostream &os = llvm::outs();
  os << "  " << quoted(entry.title) << " on " << quoted(entry.key.machine)
     << ", " << dayOf(entry.date)
     << llvm::format(": %.2f us", entry.microseconds);
  if (entry.choice != entry.model)
    os << llvm::format(" against %.2f", entry.modelMicroseconds);
  os << ", " << quoted(entry.choice) << "; " << quoted(entry.key.generator)
     << '\n';
}

llvm::Expected<ExitCode>
fusec::tool::cacheTuning(const Arguments &arguments,
                         const std::string &directory) {
  TuningRecord record(directory);
  size_t added = 0, removed = 0;
  if (arguments.has("import")) {
    llvm::Expected<size_t> count =
        importEntries(arguments.value("import"), record);
    if (!count)
      return count.takeError();
    added = *count;
  }
  if (arguments.has("clear")) {
    llvm::Expected<size_t> count = record.clear();
    if (!count)
      return withCode(ExitCode::Usage, count.takeError());
    removed = *count;
  }
  auto contents = record.list(/*removeDamaged=*/true);
  if (!contents)
    return withCode(ExitCode::Usage, contents.takeError());
  if (arguments.has("json")) {
    llvm::json::Array entries, damaged;
    for (const TuningEntry &entry : contents->entries)
      entries.push_back(runtime::toJson(entry));
    for (const std::string &name : contents->damaged)
      damaged.push_back(jsonText(name));
    printJson(llvm::json::Object{{"action", "tuning"},
                                 {"directory", jsonText(directory)},
                                 {"added", int64_t(added)},
                                 {"removed", int64_t(removed)},
                                 {"damaged", std::move(damaged)},
                                 {"entries", std::move(entries)}});
  } else {
    llvm::outs() << "folder:  " << quoted(directory) << '\n';
    if (arguments.has("import"))
      llvm::outs() << "added:   " << added << " choices\n";
    if (arguments.has("clear"))
      llvm::outs() << "removed: " << removed << " choices\n";
    llvm::outs() << "holds:   " << contents->entries.size()
                 << " measured choices\n";
    for (const TuningEntry &entry : contents->entries)
      print(entry);
    for (const std::string &name : contents->damaged)
      llvm::outs() << "  " << quoted(name) << " was damaged (removed)\n";
  }
  return contents->damaged.empty() ? ExitCode::Ok : ExitCode::WrongResult;
}
