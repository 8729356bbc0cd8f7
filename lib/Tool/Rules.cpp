//===- Rules.cpp - where options act --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An option that is given where it does not act is an error: a run that leaves
// it out without a word answers another question than was asked. Commands say
// in tables where their options act; errors and help are made from these.
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec::tool;
using llvm::StringRef;

Clause fusec::tool::given(StringRef option, std::vector<StringRef> values) {
  return {option, true, std::move(values)};
}

Clause fusec::tool::absent(StringRef option, std::vector<StringRef> values) {
  return {option, false, std::move(values)};
}

bool Arguments::holds(const Clause &clause) const {
  bool found = clause.values.empty()
                   ? has(clause.option)
                   : llvm::any_of(values(clause.option), [&](StringRef value) {
                       return llvm::is_contained(clause.values, value);
                     });
  return found == clause.isGiven;
}

/// "--emit=graph or --emit=fused"; "--json" without values.
static std::string textOf(StringRef option, llvm::ArrayRef<StringRef> values) {
  std::string text = values.empty() ? spelled(option) : "";
  for (StringRef value : values)
    text += (text.empty() ? "" : " or ") + spelled(option) + "=" + value.str();
  return text;
}

llvm::Error fusec::tool::checkRules(llvm::ArrayRef<Rule> rules,
                                    const Arguments &arguments) {
  for (const Rule &rule : rules) {
    auto option = llvm::find_if(
        rule.options, [&](StringRef name) { return arguments.has(name); });
    if (option == rule.options.end() ||
        llvm::any_of(rule.where, [&](const Clause &clause) {
          return arguments.holds(clause);
        }))
      continue;
    // What is in the way is the clause that speaks of all; others are ways out.
    const Clause &clause = rule.where.front();
    std::vector<StringRef> values = clause.values;
    if (!clause.isGiven && !values.empty())
      llvm::erase_if(values, [&](StringRef value) {
        return !llvm::is_contained(arguments.values(clause.option), value);
      });
    return toolError(ExitCode::Usage,
                     spelled(*option) + " does not act " +
                         (clause.isGiven ? "without " : "with ") +
                         textOf(clause.option, values) + ": " + rule.why,
                     rule.remedy);
  }
  return llvm::Error::success();
}

/// What `command` can be given of `clause`; nothing if that is nothing.
static std::optional<Clause> possible(const Clause &clause,
                                      const CommandSpec &command) {
  auto option = llvm::find_if(command.options, [&](const OptionSpec &o) {
    return o.name == clause.option;
  });
  if (option == command.options.end())
    return std::nullopt;
  Clause result = clause;
  if (!option->choices.empty())
    llvm::erase_if(result.values, [&](StringRef value) {
      return !llvm::is_contained(option->choices, value);
    });
  if (result.values.empty() && !clause.values.empty())
    return std::nullopt;
  return result;
}

/// "with --against", "not with --target=host"; empty if options of the rule act
/// in all of `command`.
static std::string placesOf(const Rule &rule, const CommandSpec &command) {
  std::string text;
  for (const Clause &clause : rule.where) {
    std::optional<Clause> known = possible(clause, command);
    if (!known && !clause.isGiven)
      return "";
    if (known)
      text += (text.empty() ? "" : ", or ") +
              std::string(clause.isGiven ? "with " : "not with ") +
              textOf(clause.option, known->values);
  }
  return text;
}

void fusec::tool::printRules(llvm::raw_ostream &os,
                             const CommandSpec &command) {
  bool any = false;
  for (const Rule &rule : command.rules) {
    std::string places = placesOf(rule, command);
    if (places.empty())
      continue;
    os << (any ? "" : "\noptions that act only in places:\n") << "  " << places
       << ": ";
    any = true;
    llvm::interleaveComma(rule.options, os,
                          [&](StringRef name) { os << spelled(name); });
    os << '\n';
  }
}
