//===- Arguments.h - command lines ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small parser of our own: LLVM's has process-wide state that fills up with
// the options of LLVM itself, exits by itself, and cannot say what to do.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_ARGUMENTS_H
#define FUSEC_LIB_TOOL_ARGUMENTS_H

#include "ToolError.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace fusec::tool {

/// One option of a command: `--name` if `value` is empty, else `--name=VALUE`
/// or `--name VALUE`. One letter makes `-n`.
struct OptionSpec {
  llvm::StringRef name;
  llvm::StringRef value;
  llvm::StringRef help;
  /// May be given several times.
  bool repeats = false;
};

class Arguments;

/// A subcommand with its help.
struct CommandSpec {
  llvm::StringRef name;
  /// "MODEL [options]".
  llvm::StringRef usage;
  llvm::StringRef summary;
  std::vector<OptionSpec> options;
  /// Commands with a sentence on each, for --help.
  llvm::StringRef examples;
  /// Most arguments that are not options; fewest is 1 unless `run` says so.
  size_t maxPositionals = 1;
  llvm::Expected<ExitCode> (*run)(const Arguments &);
};

/// What was given on the command line, checked against a CommandSpec.
class Arguments {
public:
  /// Fails on unknown options (naming the nearest known one), missing or
  /// unexpected values, repetition, and too many positionals.
  static llvm::Expected<Arguments> parse(const CommandSpec &command,
                                         llvm::ArrayRef<llvm::StringRef> args);

  bool has(llvm::StringRef name) const { return options.contains(name); }
  /// The value of `name`, or `otherwise`.
  llvm::StringRef value(llvm::StringRef name,
                        llvm::StringRef otherwise = "") const;
  llvm::ArrayRef<llvm::StringRef> values(llvm::StringRef name) const;
  /// The value of `name` as an integer in [low, high], or `otherwise`.
  llvm::Expected<int64_t> integer(llvm::StringRef name, int64_t otherwise,
                                  int64_t low, int64_t high) const;
  /// The value of `name` as a finite number of at least zero, or `otherwise`.
  llvm::Expected<double> number(llvm::StringRef name, double otherwise) const;

  std::vector<llvm::StringRef> positionals;

private:
  llvm::StringMap<std::vector<llvm::StringRef>> options;
};

/// Prints the help of a command.
void printHelp(llvm::raw_ostream &os, const CommandSpec &command);

/// The nearest of `candidates`, if it is near enough to be meant.
std::optional<llvm::StringRef>
nearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_ARGUMENTS_H
