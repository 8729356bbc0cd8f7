# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""schema.py TOOL_MD [NAME FILE]...

Checks JSON files against the blocks of that name in docs/tool.md, which says
how they are written: nothing more is printed, and each name in one of the files
at least. Every block must be among the names or be part of another one, and
every command with --json must have one. With --exit-codes instead of names:
checks the table of exit codes against `fusec --help`.
"""
import json
import re
import subprocess
import sys

SCALARS = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and
    not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "any": lambda v: True,
}


def check(schemas, schema, value, path, seen):
    if isinstance(schema, str):
        if schema in schemas:
            return check(schemas, schemas[schema], value, schema, seen)
        kinds = schema.split("|")
        assert any(SCALARS[kind](value) for kind in kinds), \
            f"{path}: expected {schema}, found {value!r}"
        return
    if isinstance(schema, list):
        assert isinstance(value, list), f"{path}: expected a list"
        for i, item in enumerate(value):
            check(schemas, schema[0], item, f"{path}[{i}]", seen)
        return
    if value is None and "|null" in schema:
        return
    assert isinstance(value, dict), f"{path}: expected an object"
    if "*" in schema:
        for name, item in value.items():
            check(schemas, schema["*"], item, f"{path}.{name}", seen)
        return
    names = {name.rstrip("?"): name for name in schema if name != "|null"}
    for plain, name in names.items():
        assert name.endswith("?") or plain in value, f"{path}: no {plain}"
    for name, item in value.items():
        assert name in names, f"{path}: {name} is not documented"
        check(schemas, schema[names[name]], item, f"{path}.{name}", seen)
        seen.add(f"{path}.{name}")


def exit_codes(text):
    table = text.split("## Exit codes")[1].split("\n\n")[1]
    documented = re.findall(r"^\| (\d) \| (.*) \|$", table, re.M)
    told = subprocess.run(["fusec", "--help"], check=True, text=True,
                          capture_output=True).stdout
    shown = re.findall(r"^  (\d)  (.*)$", told, re.M)
    assert documented == shown, (documented, shown)
    print(len(shown), "exit codes")


def documented(schema, path):
    """The names of a block that are there in every object, as `check` notes
    them, and the blocks that it names."""
    if isinstance(schema, str):
        return set(), set(schema.split("|")) - SCALARS.keys()
    if isinstance(schema, list):
        return documented(schema[0], path + "[]")
    names, blocks = set(), set()
    for name, part in schema.items():
        if name == "|null":
            continue
        inner = documented(part, f"{path}.{name.rstrip('?')}")
        blocks |= inner[1]
        # Where an object may be null, what is in it may never be seen.
        if name != "*" and "?" not in name and "|null" not in schema:
            names |= {f"{path}.{name}"} | inner[0]
    return names, blocks


def complete(schemas, seen):
    """Every block was asked for or is part of one, and its names were printed;
    every command with --json has one."""
    seen = {re.sub(r"\[\d+\]", "[]", path) for path in seen}
    tops = {path.split(".")[0] for path in seen}
    wanted, named = set(), set()
    for name, schema in schemas.items():
        names, blocks = documented(schema, name)
        wanted |= names if name in tops else set()
        named |= blocks
    assert set(schemas) <= tops | named, set(schemas) - tops - named
    assert wanted <= seen, f"documented and not printed: {sorted(wanted - seen)}"
    told = subprocess.run(["fusec", "--help"], check=True, text=True,
                          capture_output=True).stdout
    for command in re.findall(r"^  ([a-z]+)  +\w", told, re.M):
        text = subprocess.run(["fusec", command, "--help"], check=True,
                              text=True, capture_output=True).stdout
        assert command in schemas or "--json" not in text, command
    print(len(schemas), "blocks, all printed")


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    if sys.argv[2] == "--exit-codes":
        return exit_codes(text)
    schemas = {name: json.loads(block) for name, block in
               re.findall(r"^```json (\w+)\n(.*?)^```", text, re.M | re.S)}
    seen = set()
    for name, file in zip(sys.argv[2::2], sys.argv[3::2]):
        value = json.load(open(file, encoding="utf-8"))
        check(schemas, schemas[name], value, name, seen)
        print(name, "fits")
    if len(sys.argv) > 4:
        complete(schemas, seen)


main()
