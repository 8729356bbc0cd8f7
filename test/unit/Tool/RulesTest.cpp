//===- RulesTest.cpp - where options act ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rule of every command is broken once, and kept once.
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "ShellWord.h"
#include "gtest/gtest.h"

using namespace fusec::tool;
using llvm::StringRef;

static const OptionSpec *find(const CommandSpec &command, StringRef name) {
  for (const OptionSpec &option : command.options)
    if (option.name == name)
      return &option;
  return nullptr;
}

/// "--name=value", with a value that the option may have.
static std::string write(const CommandSpec &command, StringRef name,
                         StringRef value = "") {
  const OptionSpec *option = find(command, name);
  if (!option || option->value.empty())
    return spelled(name);
  if (value.empty())
    value = option->choices.empty() ? "1" : option->choices.front();
  return spelled(name) + "=" + value.str();
}

/// True if the command line of `words` is taken; else `message` says why not.
static bool parses(const CommandSpec &command,
                   const std::vector<std::string> &words,
                   std::string &message) {
  std::vector<StringRef> args(words.begin(), words.end());
  for (size_t i = 0; i < command.minPositionals; ++i)
    args.push_back(command.positionalChoices.empty()
                       ? "model.mlir"
                       : command.positionalChoices.front());
  auto arguments = Arguments::parse(command, args);
  message = arguments ? "" : llvm::toString(arguments.takeError());
  return message.empty();
}

/// A word that makes `clause` hold, or not; nothing if that is to give nothing,
/// or if the command has no such option or value.
static std::optional<std::string> word(const CommandSpec &command,
                                       const Clause &clause, bool holds) {
  if (holds != clause.isGiven)
    return std::nullopt;
  const OptionSpec *option = find(command, clause.option);
  if (!option)
    return std::nullopt;
  if (clause.values.empty())
    return write(command, clause.option);
  for (StringRef value : clause.values)
    if (option->choices.empty() || llvm::is_contained(option->choices, value))
      return write(command, clause.option, value);
  return std::nullopt;
}

TEST(Rules, AreKept) {
  int64_t broken = 0;
  for (const CommandSpec &command : allCommands())
    for (const Rule &rule : command.rules)
      for (StringRef name : rule.options) {
        SCOPED_TRACE((command.name + " --" + name).str());
        EXPECT_TRUE(find(command, name));
        EXPECT_FALSE(rule.why.empty() || rule.remedy.empty());
        // Broken by the first clause alone: others are ways out, not given.
        const Clause &first = rule.where.front();
        std::vector<std::string> words = {write(command, name)};
        auto other = word(command, first, false);
        if (!first.isGiven && !other)
          continue; // of options that this command does not have
        if (other)
          words.push_back(*other);
        std::string message;
        EXPECT_FALSE(parses(command, words, message));
        EXPECT_TRUE(
            StringRef(message).contains(spelled(name) + " does not act with"))
            << message;
        ++broken;
        // Each clause is a way out of this rule.
        for (const Clause &clause : rule.where) {
          auto way = word(command, clause, true);
          if (way || !clause.isGiven) {
            std::vector<std::string> good = {write(command, name)};
            if (way)
              good.push_back(*way);
            bool ok = parses(command, good, message);
            EXPECT_TRUE(ok || !StringRef(message).contains(rule.why))
                << message;
          }
        }
      }
  EXPECT_GT(broken, 25);
}

/// Rules that speak of no option of their command would never act.
TEST(Rules, NameWhatThereIs) {
  std::vector<CommandSpec> commands = allCommands();
  for (const CommandSpec &command : commands)
    for (const Rule &rule : command.rules)
      for (const Clause &clause : rule.where) {
        const OptionSpec *option = nullptr;
        for (const CommandSpec &any : commands)
          if (!option)
            option = find(any, clause.option);
        ASSERT_TRUE(option) << clause.option.str();
        if (const OptionSpec *own = find(command, clause.option))
          option = own;
        EXPECT_TRUE(clause.values.empty() || !option->value.empty());
      }
}

TEST(Rules, ValuesAreThoseGiven) {
  CommandSpec run = runCommand();
  std::string message;
  EXPECT_FALSE(parses(run, {"--row-block=8", "--target=host"}, message));
  EXPECT_TRUE(StringRef(message).contains("with --target=host:")) << message;
  EXPECT_TRUE(parses(run, {"--row-block=8", "--target=emulator"}, message));
  EXPECT_TRUE(parses(
      run, {"--row-block=8", "--target=host", "--against=emulator"}, message));
  // Of options that may be given several times any value counts.
  EXPECT_FALSE(parses(fuzzCommand(),
                      {"--memory=8", "--target=host", "--target=cuda"},
                      message));
  // Help is there whatever else is on the line.
  EXPECT_TRUE(parses(run, {"--rtol=1", "--help"}, message));
}

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shellWord("a/b-1.mlir"), "a/b-1.mlir");
  EXPECT_EQ(shellWord(""), "''");
  EXPECT_EQ(shellWord("a b"), "'a b'");
  EXPECT_EQ(shellWord("it's"), "'it'\\''s'");
  for (StringRef special : {"$x", "`x`", "a;b", "a\\b", "a\nb", "~", "*", "\"",
                            "a&b", "#a", "!a", "(a)", "a|b", "a>b", "\xc3\xa4"})
    EXPECT_EQ(shellWord(special), "'" + special.str() + "'");
  EXPECT_EQ(shellPath("-x/graph.mlir"), "./-x/graph.mlir");
  EXPECT_EQ(shellPath("-x y"), "'./-x y'");
}
