# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NVRTC costs for each family of kernels, as a table.

    python3 -m benchmarks.nvrtc [--fusec PATH] [--arch sm_90a] [--json F] [GRAPH...]

takes the graphs of test/gpu/families.py, one or more for each family, and asks
`fusec explain --compile-times` for the user processor time of each kernel by
itself, from text to cubin, median of three. It needs NVRTC and no GPU. GRAPH is
a pattern of names. The exit code is 1 if a kernel takes longer than its limit.
"""
import argparse
import fnmatch
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Milliseconds; what is no product is bound by memory.
LIMITS = {"contraction": 700}
OTHERS = 250


def graphs(folder, patterns):
    spec = importlib.util.spec_from_file_location("families", ROOT / "test/gpu/families.py")
    families = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(families)
    families.write(folder)
    return [path for path in sorted(pathlib.Path(folder).glob("*.mlir"))
            if not patterns or any(fnmatch.fnmatch(path.stem, p) for p in patterns)]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def rows(fusec, arch, path):
    """(graph, kind, ms, kB of text, registers) of each kernel that is told apart."""
    told = json.loads(run(fusec, "explain", path, f"--arch={arch}", "--compile-times", "--json"))
    # Each kernel's text ends by naming it.
    parts = re.split(r"^FUSEC_EXPORT\((\w+)\)$", run(fusec, "compile", path, f"--arch={arch}",
                                                   "--emit=cuda", "--quiet"), flags=re.M)
    sizes = {name: len(text) for text, name in zip(parts[::2], parts[1::2])}
    seen = set()
    for kernel in told["kernels"]:
        code = kernel["code"]
        if kernel["entry"] in seen or not code:
            continue
        seen.add(kernel["entry"])
        yield {"graph": path.stem, "kind": kernel["kind"], "entry": kernel["entry"],
               "ms": code["compile_us"] / 1e3, "text_kb": sizes[kernel["entry"]] / 1e3,
               "registers": (code["resources"] or {}).get("registers")}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="GRAPH")
    parser.add_argument("--fusec", default=str(ROOT / "build/dev/bin/fusec"))
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--json", help="file for the rows")
    arguments = parser.parse_args()
    found = []
    print("| graph | kind | ms | limit | kB of text |\n|--|--|--|--|--|")
    with tempfile.TemporaryDirectory() as folder:
        for path in graphs(folder, arguments.patterns):
            for row in rows(arguments.fusec, arguments.arch, path):
                row["limit"] = LIMITS.get(row["kind"], OTHERS)
                over = row["ms"] > row["limit"]
                mark = "**" if over else ""
                print(f"| {row['graph']} | {row['kind']} | {mark}{row['ms']:.0f}{mark} | {row['limit']} "
                      f"| {row['text_kb']:.1f} |", flush=True)
                found.append(row)
    over = [row for row in found if row["ms"] > row["limit"]]
    print(f"\n{len(found)} kernels, {len(over)} over their limit")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
