# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Completes command lines in real shells and compares with --help."""
import re
import shutil
import subprocess


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          **options).stdout


def bash(line):
    """What bash offers at the end of `line`, split as readline does."""
    words = [w for w in re.split(r"(=)|\s+", line) if w]
    if line.endswith(" "):
        words.append("")
    script = output("fusec", "completion", "bash") + f"""
compopt() {{ :; }}
COMP_WORDS=({' '.join("'" + w + "'" for w in words)})
COMP_CWORD={len(words) - 1}
_fusec
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return output("bash", "-uc", script).split()


def fish(line):
    script = output("fusec", "completion", "fish") + f'\ncomplete -C "{line}"'
    lines = output("fish", "--no-config", "-c", script).splitlines()
    return [one.split("\t")[0] for one in lines]


main_help = output("fusec", "--help")
commands = re.findall(r"^  ([a-z]+)  +\w", main_help, re.M)
options = {}
for command in commands:
    text = output("fusec", command, "--help").split("\nexamples:\n")[0]
    options[command] = set(re.findall(r"^  (--?[\w-]+)", text, re.M))

shells = [bash]
assert set(bash("fusec ")) == set(commands) | {"--help", "--version"}
for command in commands:
    offered = {word.rstrip("=") for word in bash(f"fusec {command} -")}
    assert offered == options[command], (command, offered, options[command])
if shutil.which("fish"):
    shells.append(fish)
    assert set(commands) <= set(fish("fusec "))
    for command in commands:
        offered = {w.rstrip("=") for w in fish(f"fusec {command} --")}
        expected = {o for o in options[command] if o.startswith("--")}
        assert expected <= offered, (command, offered)
for shell in shells:
    values = shell("fusec run x.mlir --target=")
    assert {v.removeprefix("--target=") for v in values} == {
        "cuda", "host", "emulator", "reference"}, (shell, values)
    assert shell("fusec compile --emit=fu")[0].endswith("fused")
    assert {"stats", "verify", "clear"} <= set(shell("fusec cache "))
assert bash("fusec run --fuse o") == ["on", "off"]
if shutil.which("zsh"):
    # Parsing, and loading it as a completion does.
    script = "autoload -U compinit && compinit -D -u\n" + \
        output("fusec", "completion", "zsh") + "\nprint $_comps[fusec]"
    assert output("zsh", "-fc", script).strip() == "_fusec"
print("completion of", len(commands), "commands")
