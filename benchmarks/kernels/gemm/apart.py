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
# Variants of the text: no epilogue at all; the second warpgroup not delayed.
NO_EPILOGUE = ("if (place < m && column < n) {=>"
               "if (place < m && column < n && v[0] == 12345.0f) {")
NO_LAG = "if (half == 1 && work.total()=>if (half == 2 && work.total()"
DEPTHS = [TOGETHER, "2,256,3,8,1,2,0", APART, "apart,256,5,4,8,2,0",
          "apart,256,7,3,8,2,0", "apart,256,4,4,8,2,0", "apart,256,6,4,8,1,0"]
RUNS = [
    ("bf16 8192x8192x4096", DEPTHS, []),
    ("bf16 8192x8192x4096", [TOGETHER, APART], [NO_EPILOGUE]),
    ("bf16 8192x8192x4096 gelu", DEPTHS, []),
    ("bf16 8192x8192x4096 gelu", [APART], [NO_LAG]),
    ("bf16 8192x8192x256", DEPTHS, []),
    ("bf16 8192x8192x256", [APART], [NO_LAG]),
    ("bf16 8192x8192x256", [TOGETHER, APART], [NO_EPILOGUE]),
    ("bf16 65536x320x1280",
     ["2,192,5,8,1,1,0", "2,160,5,8,1,1,0", "apart,320,4,3,8,2,0",
      "apart,320,5,3,8,2,0", "apart,320,4,3,8,1,0", "apart,192,6,4,8,2,0"], []),
    ("bf16 65536x320x1280 nk", ["2,192,5,8,1,1,0", "apart,320,4,3,8,2,0",
                                "apart,320,5,3,8,2,0"], []),
    ("bf16 4096x1024x1024",
     ["2,128,6,8,1,2,0", "1,128,4,8,2,1,0", "apart,128,7,5,8,2,0",
      "apart,256,6,4,8,2,0"], []),
    ("bf16 64x512x512x512",
     ["2,192,5,8,1,1,0", TOGETHER, APART, "apart,192,6,4,8,2,0",
      "apart,128,7,5,8,2,0"], []),
    ("f8 8192x8192x8192 nk", ["2,192,5,8,1,1,1", "2,192,5,8,1,1,1,eights",
                              "apart,192,6,4,8,1,1", "apart,192,7,4,8,1,1",
                              "apart,192,6,5,8,2,1"], []),
    ("f8 8192x8192x8192 nk gelu", ["2,192,5,8,1,1,1", "2,192,5,8,1,1,1,eights",
                                   "apart,192,6,4,8,1,1", "apart,192,6,5,8,2,1"],
     []),
    ("f8 8192x8192x8192 nk fast", [TOGETHER, TOGETHER + ",eights", APART], []),
    ("bf16 8192x8192x256 nk", [TOGETHER, TOGETHER + ",eights", APART], []),
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
