#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times one product in other tiles than the one that is chosen.

    tiles.py MODEL.mlir TILE... [--fusec=fusec] [--repeat=20] [--with=FILE] [--code=A=>B]

MODEL is a graph of one kernel of the Warpgroup loop. A TILE is "consumers,
columns,stages,group,blocks,cluster,parts" as GemmWgmmaConfig has them. For each
`fusec compile --emit=cu` is changed and compiled by nvcc; `--code` also changes
the text (variants of the skeleton). Prints microseconds of the median launch and
the checksum line, by which equal arithmetic is seen to give equal bits.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

TIMED = """
  { auto timed = [&] { %s };
    float times[%d];
    cudaEvent_t begin, end; cudaEventCreate(&begin); cudaEventCreate(&end);
    for (int i = 0; i < 5; ++i) timed();
    for (float &t : times) {
      cudaEventRecord(begin); timed(); cudaEventRecord(end);
      cudaEventSynchronize(end); cudaEventElapsedTime(&t, begin, end);
    }
    for (float &t : times) for (float *u = &t + 1; u < times + %d; ++u)
      if (*u < t) { float v = t; t = *u; *u = v; }
    std::printf("median %%.1f us, p10 %%.1f us\\n", times[%d] * 1e3,
                times[%d] * 1e3); }
"""


def changed(text, tile, repeat, code, extra):
    consumers, columns, stages, group, blocks, cluster, parts = tile
    threads = 128 * (consumers + 1)
    rows = 64 * consumers
    bytes_ = 2 if re.search(r"GemmKind::B?F16", text.split("GemmWgmmaConfig<Gemm")[-1][:40]) else 1
    inner = 128 // bytes_
    shared = stages * (rows + -(-columns // 64) * 64) * 128
    numbers = [consumers, columns, stages, group, blocks, cluster]
    numbers += [parts] if parts else []
    text, n = re.subn(r"(= GemmWgmmaConfig<GemmKind::\w+), [^>]*>",
                      lambda m: f"{m[1]}, {', '.join(map(str, numbers))}>", text)
    assert n == 1, "expected one kernel of the Warpgroup loop"
    text, n = re.subn(
        r"FUSEC_KERNEL_(?:CLUSTER|MIN)\((k_\w+), [^)]*\)\(",
        lambda m: f"FUSEC_KERNEL_CLUSTER({m[1]}, {threads}, {blocks}, {cluster})(",
        text)
    assert n == 1
    boxes = iter([rows, columns // cluster])
    text = re.sub(r"(tensorMap\([^;]*\{\d+\}, \{)%d, \d+\}" % inner,
                  lambda m: f"{m[1]}{inner}, {next(boxes)}" + "}", text)
    launch = re.search(r"launch\(\(const void \*\)(k_\w+), .*?, args\);", text)
    new = (f"launch((const void *){launch[1]}, dim3({132 * blocks // cluster * cluster}, 1, 1), "
           f"{threads}, {cluster}, false, {shared}, args);")
    text = text.replace(launch[0], TIMED % (new, repeat, repeat, repeat // 2,
                                            repeat // 10))
    if extra:
        before = "/// The CTA's part of the contraction; meaning as for gemm_mma."
        assert before in text
        text = text.replace(before, open(extra).read() + before)
    for change in code:
        a, b = change.split("=>")
        assert a in text, f"no {a!r} in the text"
        text = text.replace(a, b)
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("tiles", nargs="+")
    parser.add_argument("--fusec", default="fusec")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--code", action="append", default=[])
    parser.add_argument("--with", dest="extra",
                        help="text to put before the entry of the loop")
    options = parser.parse_args()
    text = subprocess.run([options.fusec, "compile", options.model, "--quiet",
                           "--emit=cu", "--arch=sm_90a"], check=True,
                          capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        def build(name):
            path = os.path.join(folder, name.replace(",", "_"))
            with open(path + ".cu", "w") as file:
                file.write(changed(text, [int(x) for x in name.split(",")],
                                   options.repeat, options.code,
                                   options.extra))
            run = subprocess.run(
                ["nvcc", "-std=c++17", "-fmad=false", "-gencode=arch=compute_90a,code=sm_90a", "-O3",
                 "-Xptxas", "-v", "-o", path, path + ".cu", "-lcuda"],
                capture_output=True, text=True)
            spills = re.findall(r"(\d+) bytes spill stores", run.stderr)
            return path, run, sum(map(int, spills))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(build, options.tiles))
        for name, (path, run, spills) in zip(options.tiles, built):
            if run.returncode:
                print(f"{name}: {run.stderr[-600:]}", file=sys.stderr)
                continue
            out = subprocess.run([path], capture_output=True, text=True)
            print(f"{name}: spills {spills}, "
                  f"{' | '.join((out.stdout + out.stderr).split(chr(10)))}",
                  flush=True)


main()
