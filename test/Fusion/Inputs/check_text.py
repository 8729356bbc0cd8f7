# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the text that fusec makes of every graph in a folder.

check_text.py same FOLDER STAGE    two runs give equal bytes
check_text.py entries FOLDER       PTX has as many entries as the plan regions
check_text.py planned FOLDER       planning a plan changes nothing
"""
import pathlib
import re
import subprocess
import sys


def emit(path, stage):
    return subprocess.run(["fusec", "compile", str(path), f"--emit={stage}"],
                          check=True, capture_output=True, text=True).stdout


def check_same(path, stage):
    first, second = emit(path, stage), emit(path, stage)
    return "" if first and first == second else "two runs differ"


def check_entries(path):
    regions = len(re.findall(r"= graph\.fusion", emit(path, "fused")))
    entries = len(re.findall(r"\.entry\b", emit(path, "ptx")))
    return "" if entries == regions else f"{regions} regions, {entries} entries"


def check_planned(path):
    command = ["fusec-opt", str(path), "--fusec-graph-decompose-composites",
               "--canonicalize"]
    plan = "--fusec-fusion-form-groups=verify-groups"
    once, twice = [subprocess.run(command + times * [plan], check=True,
                                  capture_output=True).stdout
                   for times in (1, 2)]
    return "" if once == twice else "planning again changes the plan"


check, folder = sys.argv[1], pathlib.Path(sys.argv[2])
graphs = sorted(folder.glob("*.mlir"))
failures = []
for graph in graphs:
    failure = (check_same(graph, sys.argv[3]) if check == "same" else
               {"entries": check_entries, "planned": check_planned}[check](graph))
    if failure:
        failures.append(f"{graph.name}: {failure}")
sys.exit("\n".join(failures) if failures or not graphs else 0)
