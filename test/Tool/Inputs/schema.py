# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""schema.py TOOL_MD NAME [NAME FILE]...

Checks JSON files against the blocks of that name in docs/tool.md, which says
how they are written. A file of FILE `-` is stdin. With --exit-codes instead
of names: checks the table of exit codes against `fusec --help`.
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
            return check(schemas, schemas[schema], value, path, seen)
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


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    if sys.argv[2] == "--exit-codes":
        return exit_codes(text)
    schemas = {name: json.loads(block) for name, block in
               re.findall(r"^```json (\w+)\n(.*?)^```", text, re.M | re.S)}
    for name, file in zip(sys.argv[2::2], sys.argv[3::2]):
        value = json.load(open(file, encoding="utf-8"))
        check(schemas, schemas[name], value, name, set())
        print(name, "fits")


main()
