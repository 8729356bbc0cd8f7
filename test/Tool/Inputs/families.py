# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that graphs become the kernels that their first lines name."""
import json
import pathlib
import subprocess
import sys

KINDS = {"pointwise", "row", "stencil", "contraction", "naive", "multi", "chain"}

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.mlir")):
    wanted = path.read_text().splitlines()[0].removeprefix("// kernels: ").split(", ", 1)
    told = json.loads(subprocess.run(["fusec", "explain", path, "--json", "--arch=sm_90a"],
                                     capture_output=True, check=True).stdout)
    kinds = {kernel["kind"] for kernel in told["kernels"]}
    assert wanted[0] in KINDS and wanted[0] in kinds, (path.name, wanted, kinds)
    if len(wanted) > 1:
        text = subprocess.run(["fusec", "compile", path, "--emit=cuda", "--arch=sm_90a"], capture_output=True,
                              check=True, text=True).stdout
        for words in wanted[1].split(" and "):
            assert words in text, (path.name, words)
