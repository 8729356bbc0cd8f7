# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks where the kernels of graphs wait for the launch before them."""
import pathlib
import re
import subprocess
import sys

KERNEL = re.compile(r"^(FUSEC_KERNEL\w*)\((k_\w+)[^)]*\)\((.*?)\) \{\n(.*?)^FUSEC_EXPORT\(\2\)", re.S | re.M)
# The skeleton on warpgroups waits behind setting up its barriers.
WAIT = re.compile(r"^  grid_wait\(\);\n|^(?=  const \w+_holes holes\{.*\n  gemm_wgmma<)", re.M)

kernels = {"waits": 0, "skeleton waits": 0, "meets": 0}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.mlir")):
    text = subprocess.run(["fusec", "compile", path, "--emit=cuda", "--arch=sm_90a"], capture_output=True,
                          check=True, text=True).stdout
    found = KERNEL.findall(text)
    assert len(found) == text.count("FUSEC_EXPORT("), (path.name, len(found))
    for macro, entry, parameters, body in found:
        where = f"{path.name}: {entry}"
        if macro == "FUSEC_KERNEL_GRID":
            assert "grid_wait" not in body, where
            kernels["meets"] += 1
            continue
        waits = list(WAIT.finditer(body))
        assert waits, where
        before = body[:waits[0].start()]
        buffers = re.findall(r"(?:\*|FUSEC_ROWS\([^()]*\) )(p\d+)\b", parameters) + re.findall(r"\b(table|map[AB]2?)\b", parameters)
        assert buffers, where
        touched = [name for name in buffers if re.search(rf"\b{name}\b", before)]
        assert not touched, (where, touched)
        isSkeleton = "gemm_wgmma<" in body
        # A wait ahead of the skeleton's own would put its barriers behind it.
        assert not isSkeleton or "grid_wait()" not in body, where
        kernels["skeleton waits" if isSkeleton else "waits"] += 1
assert all(kernels.values()), kernels
