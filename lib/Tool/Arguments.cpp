//===- Arguments.cpp - command lines --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace fusec::tool;
using llvm::StringRef;

std::optional<StringRef>
fusec::tool::nearest(StringRef word, llvm::ArrayRef<StringRef> candidates) {
  std::optional<StringRef> best;
  unsigned bound = std::min<size_t>(3, word.size() / 2 + 1);
  // Edit distance is quadratic and arguments may be long.
  if (word.size() > 64)
    return best;
  for (StringRef candidate : candidates) {
    unsigned distance = word.edit_distance(candidate, true, bound);
    if (distance < bound) {
      bound = distance;
      best = candidate;
    }
  }
  return best;
}

std::string fusec::tool::spelled(StringRef option) {
  return (option.size() == 1 ? "-" : "--") + option.str();
}

std::string fusec::tool::listOf(llvm::ArrayRef<StringRef> words) {
  std::string text;
  for (auto [i, word] : llvm::enumerate(words))
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + word.str();
  return text;
}

/// Fails unless `value` is one of `choices`; `what` is "--fuse" or "fusec
/// cache", `prefix` what stands before a value that is typed.
static llvm::Error checkChoice(StringRef value,
                               llvm::ArrayRef<StringRef> choices,
                               const llvm::Twine &what, StringRef prefix) {
  if (choices.empty() || llvm::is_contained(choices, value))
    return llvm::Error::success();
  std::string remedy;
  if (auto name = nearest(value, choices))
    remedy = ("did you mean " + prefix + *name + "?").str();
  return toolError(ExitCode::Usage,
                   what + ": expected " + listOf(choices) + ", found " +
                       quoted(value),
                   remedy);
}

static llvm::Error unknownOption(const CommandSpec &command, StringRef given) {
  llvm::SmallVector<StringRef> names;
  for (const OptionSpec &option : command.options)
    names.push_back(option.name);
  std::string remedy;
  if (auto name = nearest(given.ltrim('-'), names))
    remedy = "did you mean " + spelled(*name) + "? ";
  return toolError(ExitCode::Usage, "unknown option " + quoted(given),
                   remedy + "'fusec " + command.name +
                       " --help' lists the options");
}

llvm::Expected<Arguments> Arguments::parse(const CommandSpec &command,
                                           llvm::ArrayRef<StringRef> args) {
  Arguments result;
  bool onlyPositionals = false;
  for (size_t i = 0; i < args.size(); ++i) {
    StringRef arg = args[i];
    if (onlyPositionals || arg == "-" || !arg.starts_with("-")) {
      result.positionals.push_back(arg);
      continue;
    }
    if (arg == "--") {
      onlyPositionals = true;
      continue;
    }
    auto [name, value] = arg.split('=');
    StringRef key =
        name.starts_with("--") ? name.drop_front(2) : name.drop_front(1);
    auto option = llvm::find_if(command.options, [&](const OptionSpec &o) {
      return o.name == key && spelled(o.name) == name;
    });
    if (option == command.options.end())
      return unknownOption(command, name);
    bool hasValue = arg.size() > name.size();
    if (option->value.empty() && hasValue)
      return toolError(ExitCode::Usage,
                       name + " takes no value, found " + quoted(value));
    if (option->needsValue() && !hasValue) {
      if (i + 1 == args.size())
        return toolError(ExitCode::Usage, name + " needs a value: expected " +
                                              name + "=" + option->value);
      value = args[++i];
    }
    if (value.empty() && (option->needsValue() || hasValue))
      return toolError(ExitCode::Usage, name + " needs a value: expected " +
                                            name + "=" + option->value +
                                            ", found nothing");
    std::vector<StringRef> &values = result.options[option->name];
    if (!values.empty() && !option->repeats)
      return toolError(ExitCode::Usage, name + " is given twice",
                       "the second value would replace the first: leave one");
    if (llvm::Error error =
            checkChoice(value, option->choices, name, (name + "=").str()))
      return error;
    values.push_back(value);
  }
  if (result.has("help") || result.has("h"))
    return result;
  if (result.positionals.size() < command.minPositionals)
    return toolError(ExitCode::Usage,
                     "fusec " + command.name + ": expected " + command.usage,
                     "'fusec " + command.name + " --help' has examples");
  if (result.positionals.size() > command.maxPositionals)
    return toolError(ExitCode::Usage,
                     "unexpected argument " +
                         quoted(result.positionals[command.maxPositionals]),
                     "usage: fusec " + command.name + " " + command.usage);
  std::string call = ("fusec " + command.name).str();
  for (StringRef word : result.positionals)
    if (llvm::Error error =
            checkChoice(word, command.positionalChoices, call, call + " "))
      return error;
  if (llvm::Error error = checkRules(command.rules, result))
    return error;
  return result;
}

StringRef Arguments::value(StringRef name, StringRef otherwise) const {
  auto it = options.find(name);
  return it == options.end() ? otherwise : it->second.back();
}

llvm::ArrayRef<StringRef> Arguments::values(StringRef name) const {
  auto it = options.find(name);
  if (it == options.end())
    return {};
  return it->second;
}

llvm::Expected<int64_t> Arguments::integer(StringRef name, int64_t otherwise,
                                           int64_t low, int64_t high) const {
  if (!has(name))
    return otherwise;
  int64_t result;
  if (value(name).getAsInteger(10, result) || result < low || result > high)
    return toolError(ExitCode::Usage,
                     spelled(name) + ": expected an integer from " +
                         llvm::Twine(low) + " to " + llvm::Twine(high) +
                         ", found " + quoted(value(name)));
  return result;
}

llvm::Expected<double> Arguments::number(StringRef name,
                                         double otherwise) const {
  if (!has(name))
    return otherwise;
  double result;
  if (value(name).getAsDouble(result) || !std::isfinite(result) || result < 0)
    return toolError(ExitCode::Usage, spelled(name) +
                                          ": expected a number of at least 0, "
                                          "found " +
                                          quoted(value(name)));
  return result;
}

void fusec::tool::printHelp(llvm::raw_ostream &os, const CommandSpec &command) {
  os << "usage: fusec " << command.name << ' ' << command.usage << "\n\n"
     << command.summary << "\n\noptions:\n";
  size_t width = 0;
  llvm::SmallVector<std::string> names;
  for (const OptionSpec &option : command.options) {
    names.push_back(spelled(option.name));
    if (!option.value.empty())
      names.back() +=
          option.mayOmitValue()
              ? "[=" + option.value.drop_front().str()
              : (option.name.size() == 1 ? " " : "=") + option.value.str();
    width = std::max(width, names.back().size());
  }
  for (auto [name, option] : llvm::zip(names, command.options)) {
    os << "  " << name;
    llvm::SmallVector<StringRef> lines;
    option.help.split(lines, '\n');
    for (auto [i, line] : llvm::enumerate(lines))
      os.indent(i ? width + 4 : width - name.size() + 2) << line << '\n';
  }
  printRules(os, command);
  os << "\nexamples:\n";
  for (const Example &example : command.examples)
    os << "  " << example.command << "\n      " << example.purpose << '\n';
}
