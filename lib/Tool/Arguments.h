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
  /// What stands for the value in help. A shell completes one that ends in FILE
  /// or DIR by files or folders. All in brackets: it may be left out, and is
  /// never the next argument.
  llvm::StringRef value;
  /// Lines of help.
  llvm::StringRef help;
  /// May be given several times.
  bool repeats = false;
  /// The only values; empty allows every value. Points to static storage.
  llvm::ArrayRef<llvm::StringRef> choices = {};

  bool needsValue() const { return !value.empty() && !mayOmitValue(); }
  bool mayOmitValue() const {
    return value.starts_with("[") && value.ends_with("]");
  }
};

/// A command line that works where its files are, and what it is good for.
struct Example {
  llvm::StringRef command;
  llvm::StringRef purpose;
};

/// That an option is given on the command line, or is not; with values, that it
/// is given with one of these.
struct Clause {
  llvm::StringRef option;
  bool isGiven;
  std::vector<llvm::StringRef> values;
};
Clause given(llvm::StringRef option, std::vector<llvm::StringRef> values = {});
Clause absent(llvm::StringRef option, std::vector<llvm::StringRef> values = {});

/// Options that act only where one of `where` holds. Elsewhere they are
/// refused: whoever gives an option wants what it says.
struct Rule {
  std::vector<llvm::StringRef> options;
  std::vector<Clause> where;
  /// Why they do not act elsewhere, and what to do instead.
  llvm::StringRef why, remedy;
};

class Arguments;

/// A subcommand: parsing, help and completion all come from it.
struct CommandSpec {
  llvm::StringRef name;
  /// One line for the list of commands.
  llvm::StringRef brief;
  /// What follows the name: "MODEL [options]".
  llvm::StringRef usage;
  llvm::StringRef summary;
  std::vector<OptionSpec> options;
  std::vector<Example> examples;
  /// Fewest and most arguments that are not options.
  size_t minPositionals = 1, maxPositionals = 1;
  /// The only values of those; empty: they are files.
  llvm::ArrayRef<llvm::StringRef> positionalChoices = {};
  llvm::Expected<ExitCode> (*run)(const Arguments &);
  /// May speak of options that the command lacks, which are never given.
  std::vector<Rule> rules = {};
};

/// What was given on the command line, checked against a CommandSpec.
class Arguments {
public:
  /// Fails on unknown options and values (naming the nearest known one),
  /// missing or unexpected values, repetition, options that do not act with the
  /// others, and too few or too many positionals, of which `--help` needs none.
  static llvm::Expected<Arguments> parse(const CommandSpec &command,
                                         llvm::ArrayRef<llvm::StringRef> args);

  bool has(llvm::StringRef name) const { return options.contains(name); }
  bool holds(const Clause &clause) const;
  /// A copy in which `name` has one more value.
  Arguments with(llvm::StringRef name, llvm::StringRef value) const {
    Arguments copy = *this;
    copy.options[name].push_back(value);
    return copy;
  }
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

/// Fails if an option of `arguments` does not act. Arguments::parse asks.
llvm::Error checkRules(llvm::ArrayRef<Rule> rules, const Arguments &arguments);

/// Prints the help of a command.
void printHelp(llvm::raw_ostream &os, const CommandSpec &command);

/// The part of help that says where options act; nothing if all always do.
void printRules(llvm::raw_ostream &os, const CommandSpec &command);

/// "--name" or "-n", as it is typed.
std::string spelled(llvm::StringRef option);

/// "cuda, host or reference".
std::string listOf(llvm::ArrayRef<llvm::StringRef> words);

/// The nearest of `candidates`, if it is near enough to be meant.
std::optional<llvm::StringRef>
nearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_ARGUMENTS_H
