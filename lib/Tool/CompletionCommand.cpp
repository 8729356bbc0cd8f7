//===- CompletionCommand.cpp - fusec completion ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scripts for shells, made from the same tables that parse the command line:
// a new option is completed without any work here.
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Options.h"
#include "ShellWord.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec::tool;
using llvm::StringRef;

static constexpr StringRef kShells[] = {"bash", "zsh", "fish"};

/// The first line of the help of an option.
static StringRef firstLine(const OptionSpec &option) {
  return option.help.split('\n').first;
}

//===----------------------------------------------------------------------===//
// bash
//===----------------------------------------------------------------------===//

/// Bash splits words at '=', so "--fuse=o" arrives as three words.
static constexpr char kBashHead[] = R"(# bash completion of fusec
_fusec() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [[ $word == = ]]; then
    word=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ")";
static constexpr char kBashTail[] = R"(  esac
  [[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -F _fusec fusec
)";

static void bashValues(llvm::raw_ostream &os, const CommandSpec &command,
                       const OptionSpec &option) {
  os << "  " << command.name << ':' << spelled(option.name) << ") ";
  if (!option.choices.empty())
    os << "COMPREPLY=($(compgen -W \"" << llvm::join(option.choices, " ")
       << "\" -- \"$word\"))";
  else if (option.value.ends_with("FILE"))
    os << "compopt -o default 2>/dev/null";
  else if (option.value.ends_with("DIR"))
    os << "COMPREPLY=($(compgen -d -- \"$word\"))";
  else
    os << ':';
  os << " ;;\n";
}

static void printBash(llvm::raw_ostream &os) {
  std::vector<CommandSpec> commands = allCommands();
  os << kBashHead;
  for (const CommandSpec &command : commands)
    os << command.name << ' ';
  os << "--help --version\" -- \"$word\"))\n    return\n  fi\n"
        "  case $command:$option in\n";
  for (const CommandSpec &command : commands)
    for (const OptionSpec &option : command.options)
      if (option.needsValue())
        bashValues(os, command, option);
  for (const CommandSpec &command : commands) {
    os << "  " << command.name << ":*)\n    if [[ $word == -* ]]; then\n"
       << "      COMPREPLY=($(compgen -W \"";
    for (const OptionSpec &option : command.options)
      os << spelled(option.name)
         << (!option.needsValue() || option.name.size() == 1 ? " " : "= ");
    os << "\" -- \"$word\"))\n    else\n      ";
    if (command.positionalChoices.empty())
      os << "compopt -o default 2>/dev/null";
    else
      os << "COMPREPLY=($(compgen -W \""
         << llvm::join(command.positionalChoices, " ") << "\" -- \"$word\"))";
    os << "\n    fi ;;\n";
  }
  os << kBashTail;
}

//===----------------------------------------------------------------------===//
// zsh
//===----------------------------------------------------------------------===//

static std::string zshAction(StringRef value,
                             llvm::ArrayRef<StringRef> choices) {
  if (!choices.empty())
    return "(" + llvm::join(choices, " ") + ")";
  return value.ends_with("DIR") ? "_files -/" : "_files";
}

/// '--name=[help]:VALUE:action'; '*' in front lets it be given again.
static std::string zshOption(const OptionSpec &option) {
  std::string spec = option.repeats ? "*" : "";
  spec += spelled(option.name);
  bool takesPath =
      option.value.ends_with("FILE") || option.value.ends_with("DIR");
  if (option.needsValue() && option.name.size() > 1)
    spec += "=";
  std::string help, value;
  for (char c : firstLine(option))
    (StringRef("[]:\\").contains(c) ? help += '\\' : help) += c;
  for (char c : option.value)
    (StringRef("[]:\\").contains(c) ? value += '\\' : value) += c;
  spec += "[" + help + "]";
  if (option.needsValue())
    spec += ":" + value + ":" +
            (option.choices.empty() && !takesPath
                 ? ""
                 : zshAction(option.value, option.choices));
  return singleQuoted(spec);
}

static void printZsh(llvm::raw_ostream &os) {
  std::vector<CommandSpec> commands = allCommands();
  os << "#compdef fusec\n_fusec() {\n  local -a commands=(\n";
  for (const CommandSpec &command : commands)
    os << "    " << singleQuoted((command.name + ":" + command.brief).str())
       << '\n';
  os << "  )\n  if ((CURRENT == 2)); then\n"
        "    _describe command commands\n    return\n  fi\n"
        "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n"
        "  case $command in\n";
  for (const CommandSpec &command : commands) {
    os << "  " << command.name << ")\n    _arguments";
    for (const OptionSpec &option : command.options)
      os << " \\\n      " << zshOption(option);
    if (command.maxPositionals)
      os << " \\\n      "
         << singleQuoted("*:argument:" +
                         zshAction("FILE", command.positionalChoices));
    os << " ;;\n";
  }
  os << "  esac\n}\n"
        "if [[ ${funcstack[1]-} == _fusec ]]; then _fusec \"$@\"; else "
        "compdef _fusec fusec; fi\n";
}

//===----------------------------------------------------------------------===//
// fish
//===----------------------------------------------------------------------===//

static void printFish(llvm::raw_ostream &os) {
  std::vector<CommandSpec> commands = allCommands();
  os << "# fish completion of fusec\n";
  for (const CommandSpec &command : commands)
    os << "complete -c fusec -n __fish_use_subcommand -f -a " << command.name
       << " -d " << singleQuoted(command.brief, "\\") << '\n';
  for (const CommandSpec &command : commands) {
    std::string when = "complete -c fusec -n '__fish_seen_subcommand_from " +
                       command.name.str() + "' ";
    for (const OptionSpec &option : command.options) {
      os << when << (option.name.size() == 1 ? "-s " : "-l ") << option.name;
      if (!option.choices.empty())
        os << " -x -a " << singleQuoted(llvm::join(option.choices, " "));
      else if (option.value.ends_with("DIR"))
        os << " -x -a '(__fish_complete_directories)'";
      else if (option.needsValue())
        os << (option.value.ends_with("FILE") ? " -r" : " -x");
      os << " -d " << singleQuoted(firstLine(option), "\\") << '\n';
    }
    if (!command.positionalChoices.empty())
      os << when << "-f -a "
         << singleQuoted(llvm::join(command.positionalChoices, " ")) << '\n';
  }
}

static llvm::Expected<ExitCode> completion(const Arguments &arguments) {
  StringRef shell = arguments.positionals.front();
  if (shell == "bash")
    printBash(llvm::outs());
  else if (shell == "zsh")
    printZsh(llvm::outs());
  else
    printFish(llvm::outs());
  return ExitCode::Ok;
}

CommandSpec fusec::tool::completionCommand() {
  return {"completion",
          "completes commands, options and values in a shell",
          "bash|zsh|fish [options]",
          "Prints a script that makes a shell complete fusec's commands, "
          "options and values.",
          commonOptionSpecs(),
          {{"fusec completion bash",
            "for this shell: source <(fusec completion bash)"},
           {"fusec completion zsh",
            "for good: fusec completion zsh > a folder of $fpath/_fusec"},
           {"fusec completion fish", "for good: fusec completion fish > "
                                     "~/.config/fish/completions/fusec.fish"}},
          1,
          1,
          kShells,
          completion};
}
