#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of products with short sums or long epilogues goes: tiles.py
with warpgroups that share a ring and such that do not (gemm_apart.cuh).

    apart.py [--fusec=fusec] [--only=WORD]
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys

TOGETHER, APART = "2,256,4,8,1,2,0", "apart,256,6,4,8,2,0"
# Variants of the text: nothing is stored; the second warpgroup is not delayed.
NO_EPILOGUE = "row < m ? valid : 0=>row < m && some[0] == 12345 ? valid : 0"
NO_LAG = "if (half == 1 && work.total()=>if (half == 2 && work.total()"
BOTH = [TOGETHER, APART, "apart,256,4,4,8,2,0"]
TURNED = [TOGETHER, APART]
RUNS = [
    ("bf16 8192x8192x4096", BOTH, []),
    ("bf16 8192x8192x4096", [TOGETHER, APART], [NO_EPILOGUE]),
    ("bf16 8192x8192x4096 gelu", BOTH, []),
    ("bf16 8192x8192x4096 gelu", [APART], [NO_LAG]),
    ("bf16 8192x8192x4096 nk gelu", TURNED, []),
    ("bf16 8192x8192x256", [*BOTH, "apart,256,6,4,8,1,0"], []),
    ("bf16 8192x8192x256", [TOGETHER, APART], [NO_EPILOGUE]),
    ("bf16 8192x8192x256 nk", TURNED, []),
    ("bf16 65536x320x1280",
     ["2,192,5,8,1,1,0", "apart,320,4,3,8,2,0", "apart,320,5,3,8,2,0"], []),
    ("bf16 4096x1024x1024",
     ["2,128,6,8,1,2,0", "1,128,4,8,2,1,0", APART], []),
    ("bf16 64x512x512x512", ["2,192,5,8,1,1,0", TOGETHER, APART], []),
    ("f8 8192x8192x8192 nk", ["2,192,5,8,1,1,1"], []),
    ("f8 8192x8192x8192 nk gelu",
     ["2,192,5,8,1,1,1", "apart,192,6,4,8,1,1"], []),
    ("f8 8192x8192x8192 nk fast gelu", TURNED, []),
]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fusec", default="fusec")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiles.py")

    def group(run):
        product, tiles, code = run
        label = {NO_EPILOGUE: ", no epilogue", NO_LAG: ", no lag"}.get("".join(code), "")
        done = subprocess.run(
            [sys.executable, script, product, *tiles, f"--fusec={options.fusec}",
             *(f"--code={change}" for change in code)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return f"## {product}{label}\n{done.stdout}"
    chosen = [run for run in RUNS if options.only in run[0]]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for text in pool.map(group, chosen):
            print(text, end="", flush=True)


main()
